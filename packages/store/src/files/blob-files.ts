// Stores blobs that are too large for the database in files beside it.
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Log } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { Blob } from '@postern/pipeline'

/** The files of large blobs. In the database, copying these bytes would block all other writes. */
export interface BlobFiles {
  /** Writes the large blobs durably to disk, and protects their files from removal while `work` runs. @throws Unavailable */
  retainDuring<T>(blobs: readonly Blob[], work: () => Promise<T>): Promise<T>
  /** Returns true if a running `retainDuring` protects the file with this digest, so that a row may refer to it. */
  isRetained(digest: string): boolean
  read(digest: string): Promise<Uint8Array>
  readNow(digest: string): Uint8Array
  /** Reads the bytes from `start` up to, but not including, `end`. */
  readRange(digest: string, start: number, end: number): Promise<Uint8Array>
  /** Removes those of the files to which no row refers. If an error prevents a removal, the next start repeats it. */
  drop(digests: readonly string[]): void
  /** Removes the files that earlier processes have left behind. */
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
  const retainCounts = createRetainCounts()
  const removals = createRemovals(pathOf)
  const writer = createBlobWriter(pathOf, removals)

  async function removeUnneeded(digest: string): Promise<void> {
    if (retainCounts.has(digest) || isNeeded(digest)) return
    await removals.remove(digest)
  }

  function drop(digests: readonly string[]): void {
    for (const digest of digests) {
      removeUnneeded(digest).catch(error => log.warn({ err: error, digest }, 'stored bytes cannot be removed'))
    }
  }

  return {
    async retainDuring(blobs, work) {
      const largeBlobs = blobs.filter(({ bytes }) => bytes.byteLength > fileThreshold)
      if (largeBlobs.length === 0) return work()
      const digests = largeBlobs.map(({ digest }) => digest)
      retainCounts.add(digests)
      try {
        await writer.writeAll(largeBlobs)
        return await work()
      } finally {
        retainCounts.release(digests)
        drop(digests)
      }
    },
    isRetained: retainCounts.has,
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

function createRetainCounts() {
  /** The number of operations that retain the file of each digest. */
  const counts = new Map<string, number>()
  return {
    has: (digest: string) => counts.has(digest),
    add(digests: readonly string[]): void {
      for (const digest of digests) counts.set(digest, (counts.get(digest) ?? 0) + 1)
    },
    release(digests: readonly string[]): void {
      for (const digest of digests) {
        const remainingCount = (counts.get(digest) ?? 1) - 1
        if (remainingCount > 0) counts.set(digest, remainingCount)
        else counts.delete(digest)
      }
    },
  }
}

type PathOf = (digest: string) => string

/** Running removals of files. */
interface Removals {
  remove(digest: string): Promise<void>
  /** Waits while the file of this digest is being removed. Otherwise the removal would also delete new bytes with that digest. */
  waitFor(digest: string): Promise<void>
}

function createRemovals(pathOf: PathOf): Removals {
  const removals = new Map<string, Promise<void>>()

  function startRemoval(digest: string): Promise<void> {
    const removal = rm(pathOf(digest), { force: true }).finally(() => removals.delete(digest))
    removals.set(digest, removal)
    return removal
  }

  return {
    remove: digest => removals.get(digest) ?? startRemoval(digest),
    waitFor: async digest => removals.get(digest)?.catch(() => undefined),
  }
}

interface BlobWriter {
  /** Writes blobs durably to disk. If one write fails, the call still waits for the others, whose files the caller then removes. @throws Unavailable */
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
      // A partial file would take space on a disk that is already full.
      await rm(join(folder, partName), { force: true }).catch(() => undefined)
      throw error
    } finally {
      partNames.delete(partName)
    }
  }

  return {
    async writeAll(blobs) {
      const outcomes = await Promise.allSettled(blobs.map(write))
      const failure = outcomes.find(outcome => outcome.status === 'rejected')
      if (failure)
        throw new Unavailable('Cannot store: the disk does not take files now', {
          cause: failure.reason,
          retryAfter: 5,
        })
    },
    isWriting: name => partNames.has(name),
  }
}

/** The blob files of a store that keeps all blobs in its database. */
export const noBlobFiles: BlobFiles = {
  retainDuring: (_, work) => work(),
  isRetained: () => false,
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

/** Syncs a folder, which makes the names of its files durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
