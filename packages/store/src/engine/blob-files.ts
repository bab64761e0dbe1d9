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
  /** How many hold a digest right now. */
  const holds = new Map<string, number>()
  const pathOf = (digest: string) => join(directory, digest.slice(0, 2), digest)
  /** Files on their way out: whoever brings the same bytes meanwhile waits, lest theirs are taken for those. */
  const removals = new Map<string, Promise<void>>()
  /** Names of what is being written. */
  const parts = new Set<string>()

  async function write({ digest, bytes }: Blob): Promise<void> {
    await removals.get(digest)?.catch(() => undefined)
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

  /** Every one has ended when this does: what is written when others have failed already would stay. */
  async function writeAll(blobs: readonly Blob[]): Promise<void> {
    const ends = await Promise.allSettled(blobs.map(write))
    const failed = ends.find(end => end.status === 'rejected')
    if (failed)
      throw new Unavailable('Cannot store: the disk does not take files now', { cause: failed.reason, retryAfter: 5 })
  }

  async function removeUnneeded(digest: string): Promise<void> {
    if (holds.has(digest) || isNeeded(digest)) return
    const removal = removals.get(digest) ?? startRemoval(digest)
    await removal
  }

  function startRemoval(digest: string): Promise<void> {
    const removal = rm(pathOf(digest), { force: true }).finally(() => removals.delete(digest))
    removals.set(digest, removal)
    return removal
  }

  function drop(digests: readonly string[]): void {
    for (const digest of digests) {
      removeUnneeded(digest).catch(error => log.warn({ err: error, digest }, 'stored bytes cannot be removed'))
    }
  }

  function release(digests: readonly string[]): void {
    for (const digest of digests) {
      const left = (holds.get(digest) ?? 1) - 1
      if (left > 0) holds.set(digest, left)
      else holds.delete(digest)
    }
    drop(digests)
  }

  return {
    async hold(blobs, work) {
      const large = blobs.filter(({ bytes }) => bytes.byteLength > fileThreshold)
      if (large.length === 0) return work()
      const digests = large.map(({ digest }) => digest)
      for (const digest of digests) holds.set(digest, (holds.get(digest) ?? 0) + 1)
      try {
        await writeAll(large)
        return await work()
      } finally {
        release(digests)
      }
    },
    isHeld: digest => holds.has(digest),
    read: digest => readFile(pathOf(digest)),
    readNow: digest => readFileSync(pathOf(digest)),
    drop,
    async sweep() {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      for await (const folder of await opendir(directory)) {
        for await (const { name } of await opendir(join(directory, folder.name))) {
          if (!name.endsWith('.part')) await removeUnneeded(name)
          else if (!parts.has(name)) await rm(join(directory, folder.name, name), { force: true })
        }
      }
    },
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

/** The name is durable only with its folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
