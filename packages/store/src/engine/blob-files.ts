import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Blob, Log } from '@postern/core'
import { Unavailable } from '@postern/core'

/** Bytes too large for the database: writing them there would hold everything up while they are copied. */
export interface BlobFiles {
  /** Puts the large ones of `blobs` on disk, durably, and keeps them there at least until `work` is done. @throws Unavailable */
  hold<T>(blobs: readonly Blob[], work: () => Promise<T>): Promise<T>
  /** Whether the bytes lie on disk, for whoever writes down now that there are such bytes. */
  isHeld(digest: string): boolean
  read(digest: string): Promise<Uint8Array>
  readNow(digest: string): Uint8Array
  /** Removes files that nothing refers to any more. Best effort: what is left over goes at the next start. */
  drop(digests: readonly string[]): void
  /** Removes what earlier processes left over, and waits for what is being removed. */
  sweep(): Promise<void>
}

interface BlobFileOptions {
  readonly directory: string
  /** Whether the database refers to a file. */
  isNeeded(digest: string): boolean
  readonly log: Log
}

/** Larger bytes go to files. */
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
      const large = blobs.filter(({ bytes }) => bytes.byteLength > fileThreshold)
      if (large.length === 0) return work()
      const digests = large.map(({ digest }) => digest)
      holds.add(digests)
      try {
        await writer.writeAll(large)
        return await work()
      } finally {
        holds.release(digests)
        drop(digests)
      }
    },
    isHeld: holds.has,
    read: digest => readFile(pathOf(digest)),
    readNow: digest => readFileSync(pathOf(digest)),
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

function createHolds() {
  /** How many hold a digest right now. */
  const counts = new Map<string, number>()
  return {
    has: (digest: string) => counts.has(digest),
    add(digests: readonly string[]): void {
      for (const digest of digests) counts.set(digest, (counts.get(digest) ?? 0) + 1)
    },
    release(digests: readonly string[]): void {
      for (const digest of digests) {
        const left = (counts.get(digest) ?? 1) - 1
        if (left > 0) counts.set(digest, left)
        else counts.delete(digest)
      }
    },
  }
}

type PathOf = (digest: string) => string

/** Files on their way out. */
interface Removals {
  remove(digest: string): Promise<void>
  /** Waits while a file of this digest is on its way out: otherwise bytes that come again would be taken for it. */
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
  /** Puts them on disk, durably. All writes have ended when it does: one that ends later than a failed one would leave its file. @throws Unavailable */
  writeAll(blobs: readonly Blob[]): Promise<void>
  /** Whether a file of this name is being written. */
  isWriting(name: string): boolean
}

function createBlobWriter(pathOf: PathOf, removals: Removals): BlobWriter {
  /** Names of what is being written. */
  const parts = new Set<string>()

  async function write({ digest, bytes }: Blob): Promise<void> {
    await removals.waitFor(digest)
    const path = pathOf(digest)
    const known = await stat(path).catch(() => undefined)
    if (known?.size === bytes.byteLength) return
    const folder = dirname(path)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const part = `${digest}.${randomUUID()}.part`
    parts.add(part)
    try {
      await writeDurably(join(folder, part), bytes)
      await rename(join(folder, part), path)
      await syncFolder(folder)
    } catch (error) {
      // Half of it on a full disk keeps it full.
      await rm(join(folder, part), { force: true }).catch(() => undefined)
      throw error
    } finally {
      parts.delete(part)
    }
  }

  return {
    async writeAll(blobs) {
      const ends = await Promise.allSettled(blobs.map(write))
      const failed = ends.find(end => end.status === 'rejected')
      if (failed)
        throw new Unavailable('Cannot store: the disk does not take files now', { cause: failed.reason, retryAfter: 5 })
    },
    isWriting: name => parts.has(name),
  }
}

/** Without a directory (a store in memory) nothing is large. */
export const noBlobFiles: BlobFiles = {
  hold: (_, work) => work(),
  isHeld: () => false,
  read: async digest => refuseFile(digest),
  readNow: refuseFile,
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

/** The names in a folder are durable only with the folder. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
