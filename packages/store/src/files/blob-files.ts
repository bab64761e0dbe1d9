// Stores blobs that are too large for the database in files.
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Log } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { Blob } from '@postern/pipeline'

/** Files with bytes that are too large for the database, where copying them would block all other writes. */
export interface BlobFiles {
  /** Writes the large blobs to disk durably, and keeps them at least until `work` is done. @throws Unavailable */
  hold<T>(blobs: readonly Blob[], work: () => Promise<T>): Promise<T>
  /** Returns true if the bytes are on disk, for an operation that is about to refer to them. */
  isHeld(digest: string): boolean
  read(digest: string): Promise<Uint8Array>
  readNow(digest: string): Uint8Array
  /** Reads only the bytes from `start` to `end`. */
  readRange(digest: string, start: number, end: number): Promise<Uint8Array>
  /** Removes files that no row refers to. A file that stays after an error is removed at the next start. */
  drop(digests: readonly string[]): void
  /** Removes files that earlier processes left over, and waits for all running removals. */
  sweep(): Promise<void>
}

interface BlobFileOptions {
  readonly directory: string
  /** Returns true if the database refers to a file. */
  isNeeded(digest: string): boolean
  readonly log: Log
}

/** The size in bytes up to which a blob stays in the database. */
export const fileThreshold = 256 * 1024

export function createBlobFiles({ directory, isNeeded, log }: BlobFileOptions): BlobFiles {
  const pathOf = (digest: string) => join(directory, digest.slice(0, 2), digest)
  const holds = createHolds()
  const removals = createRemovals(pathOf)
  const writer = createBlobWriter(pathOf, removals)

  async function removeUnneeded(digest: string): Promise<void> {
    if (holds.has(digest) || isNeeded(digest)) return
    await removals.remove(digest)
  }

  function drop(digests: readonly string[]): void {
    for (const digest of digests) {
      removeUnneeded(digest).catch(error => log.warn({ err: error, digest }, 'stored bytes cannot be removed'))
    }
  }

  return {
    async hold(blobs, work) {
      const largeBlobs = blobs.filter(({ bytes }) => bytes.byteLength > fileThreshold)
      if (largeBlobs.length === 0) return work()
      const digests = largeBlobs.map(({ digest }) => digest)
      holds.add(digests)
      try {
        await writer.writeAll(largeBlobs)
        return await work()
      } finally {
        holds.release(digests)
        drop(digests)
      }
    },
    isHeld: holds.has,
    read: digest => readFile(pathOf(digest)),
    readNow: digest => readFileSync(pathOf(digest)),
    readRange: (digest, start, end) => readRange(pathOf(digest), start, end),
    drop,
    async sweep() {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      for await (const folder of await opendir(directory)) {
        for await (const { name } of await opendir(join(directory, folder.name))) {
          if (!name.endsWith('.part')) await removeUnneeded(name)
          else if (!writer.isWriting(name)) await rm(join(directory, folder.name, name), { force: true })
        }
      }
    },
  }
}

async function readRange(path: string, start: number, end: number): Promise<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const bytes = new Uint8Array(end - start)
    const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, start)
    return bytes.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

function createHolds() {
  /** The number of operations that hold each digest. */
  const counts = new Map<string, number>()
  return {
    has: (digest: string) => counts.has(digest),
    add(digests: readonly string[]): void {
      for (const digest of digests) counts.set(digest, (counts.get(digest) ?? 0) + 1)
    },
    release(digests: readonly string[]): void {
      for (const digest of digests) {
        const remainingHolders = (counts.get(digest) ?? 1) - 1
        if (remainingHolders > 0) counts.set(digest, remainingHolders)
        else counts.delete(digest)
      }
    },
  }
}

type PathOf = (digest: string) => string

/** Running removals of files. */
interface Removals {
  remove(digest: string): Promise<void>
  /** Waits while a file of this digest is being removed. Otherwise new bytes with that digest would be lost with the old file. */
  waitFor(digest: string): Promise<void>
}

function createRemovals(pathOf: PathOf): Removals {
  const removals = new Map<string, Promise<void>>()

  function start(digest: string): Promise<void> {
    const removal = rm(pathOf(digest), { force: true }).finally(() => removals.delete(digest))
    removals.set(digest, removal)
    return removal
  }

  return {
    remove: digest => removals.get(digest) ?? start(digest),
    waitFor: async digest => removals.get(digest)?.catch(() => undefined),
  }
}

interface BlobWriter {
  /** Writes blobs to disk, durably. It waits for all writes even if one fails, because a later end would leave a file. @throws Unavailable */
  writeAll(blobs: readonly Blob[]): Promise<void>
  /** Returns true while a file of this name is being written. */
  isWriting(name: string): boolean
}

function createBlobWriter(pathOf: PathOf, removals: Removals): BlobWriter {
  /** Names of files that are being written. */
  const partNames = new Set<string>()

  async function write({ digest, bytes }: Blob): Promise<void> {
    await removals.waitFor(digest)
    const path = pathOf(digest)
    const stats = await stat(path).catch(() => undefined)
    if (stats?.size === bytes.byteLength) return
    const folder = dirname(path)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const partName = `${digest}.${randomUUID()}.part`
    partNames.add(partName)
    try {
      await writeDurably(join(folder, partName), bytes)
      await rename(join(folder, partName), path)
      await syncFolder(folder)
    } catch (error) {
      // Half a file would keep a full disk full.
      await rm(join(folder, partName), { force: true }).catch(() => undefined)
      throw error
    } finally {
      partNames.delete(partName)
    }
  }

  return {
    async writeAll(blobs) {
      const outcomes = await Promise.allSettled(blobs.map(write))
      const failure = outcomes.find(end => end.status === 'rejected')
      if (failure)
        throw new Unavailable('Cannot store: the disk does not take files now', {
          cause: failure.reason,
          retryAfter: 5,
        })
    },
    isWriting: name => partNames.has(name),
  }
}

/** Blob files of a store in memory, where no bytes are too large. */
export const noBlobFiles: BlobFiles = {
  hold: (_, work) => work(),
  isHeld: () => false,
  read: async digest => refuseFile(digest),
  readNow: refuseFile,
  readRange: async digest => refuseFile(digest),
  drop() {},
  sweep: async () => undefined,
}

function refuseFile(digest: string): never {
  throw new Error(`there are no files here: ${digest}`)
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs a folder, because names in it are durable only then. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
