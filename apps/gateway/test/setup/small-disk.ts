// Mounts a small disk that a test can fill.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A separate disk that can really be filled. */
interface SmallDisk {
  readonly directory: string
  /** Fills the disk so that at most this many bytes stay free. */
  fill(freeBytes?: number): void
  /** Deletes the file that fills the disk. */
  clear(): void
  remove(): void
}

/** Mounts the disk. @returns undefined, with a message, if this process may not mount one */
export function mountSmallDisk(megabytes: number): SmallDisk | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'postern-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], { stdio: 'pipe' })
  } catch {
    rmSync(directory, { recursive: true })
    process.stdout.write('SKIPPED  a full disk: this process may not mount one\n')
    return undefined
  }
  const filler = join(directory, 'filler')
  return {
    directory,
    fill(freeBytes = 0) {
      fillWith(filler)
      if (freeBytes > 0) truncateSync(filler, Math.max(0, statSync(filler).size - freeBytes))
    },
    clear: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync('umount', ['-l', directory], { stdio: 'pipe' })
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function fillWith(path: string): void {
  const file = openSync(path, 'a')
  const block = new Uint8Array(65_536)
  try {
    for (let size = block.length; size > 0; ) size = tryToWrite(file, block.subarray(0, size)) ? size : size >> 1
  } finally {
    closeSync(file)
  }
}

function tryToWrite(file: number, bytes: Uint8Array): boolean {
  try {
    return writeSync(file, bytes) > 0
  } catch {
    return false
  }
}
