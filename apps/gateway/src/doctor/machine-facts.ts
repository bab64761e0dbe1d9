import { existsSync, statfsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname } from 'node:path'
import { getHeapStatistics } from 'node:v8'

export interface DiskFacts {
  readonly freeBytes: number
  readonly totalBytes: number
  readonly freeFiles: number
  /** 0 where the file system does not count them. */
  readonly totalFiles: number
}

export interface MemoryFacts {
  /** Of the machine, or of the container. */
  readonly totalBytes: number
  readonly availableBytes: number
  /** What JavaScript objects may take at most. */
  readonly heapBytes: number
}

/** What the machine says about itself. */
export interface MachineFacts {
  /** `24.11.0` */
  readonly nodeVersion: string
  /** Undefined where it does not say. */
  readUserId(): number | undefined
  readMemory(): MemoryFacts
  /** Of the disk that has this folder, or will have it. */
  readDisk(folder: string): DiskFacts
}

export const realMachine: MachineFacts = {
  nodeVersion: process.versions.node,
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

function findExisting(folder: string): string {
  const parent = dirname(folder)
  return existsSync(folder) || parent === folder ? folder : findExisting(parent)
}
