// Reads facts of the machine: Node, user, memory and disk.
import { existsSync, statfsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname } from 'node:path'
import { getHeapStatistics } from 'node:v8'

export interface DiskFacts {
  readonly freeBytes: number
  readonly totalBytes: number
  readonly freeFiles: number
  /** The total number of files that the file system can hold; 0 if it does not count files. */
  readonly totalFiles: number
}

export interface MemoryFacts {
  /** The memory of the machine, or of the container. */
  readonly totalBytes: number
  readonly availableBytes: number
  /** The limit for JavaScript objects. */
  readonly heapBytes: number
}

export interface MachineFacts {
  /** The version of Node, such as `24.11.0`. */
  readonly nodeVersion: string
  /** The oldest version of Node that the gateway runs on, such as `24.11`. */
  readonly oldestNode: string
  /** Returns the user id; undefined if the system has none. */
  readUserId(): number | undefined
  readMemory(): MemoryFacts
  /** Reads the disk of a folder, which need not exist yet. */
  readDisk(folder: string): DiskFacts
}

/** Returns the facts of this machine. User, memory and disk are read again on each call. */
export function readMachineFacts(oldestNode: string): MachineFacts {
  return {
    nodeVersion: process.versions.node,
    oldestNode,
    readUserId: () => process.getuid?.(),
    readMemory() {
      const constrained = process.constrainedMemory()
      const totalBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
      return { totalBytes, availableBytes: process.availableMemory(), heapBytes: getHeapStatistics().heap_size_limit }
    },
    readDisk(folder) {
      const { bavail, bsize, blocks, ffree, files } = statfsSync(findExisting(folder))
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, freeFiles: ffree, totalFiles: files }
    },
  }
}

function findExisting(folder: string): string {
  const parent = dirname(folder)
  return existsSync(folder) || parent === folder ? folder : findExisting(parent)
}
