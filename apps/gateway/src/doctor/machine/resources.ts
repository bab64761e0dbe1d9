import { isAtLeast, minimumNode } from '../../../bin/launch.mjs'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { DiskFacts, MemoryFacts } from './facts.ts'

const mib = 1024 * 1024
const gib = 1024 * mib

export function judgeNode(version: string): Verdict {
  const fix = `Install Node ${minimumNode} or later, with the newest security release.`
  if (!isAtLeast(minimumNode, version)) return failure(`Node ${version} is older than ${minimumNode}`, fix)
  const major = Number(version.split('.')[0])
  return major % 2 === 0
    ? ok(`Node ${version}`)
    : warning(`Node ${version} gets no long-term support`, 'Install an even version, such as 24.')
}

export function judgeMemory({ totalBytes, availableBytes, heapBytes }: MemoryFacts): Verdict {
  const seen = `${formatSize(availableBytes)} of ${formatSize(totalBytes)} of memory are free`
  const fix = 'Give the machine or the container 512 MiB or more, or end other programs on it.'
  if (totalBytes < 256 * mib || availableBytes < 48 * mib)
    return failure(`${seen}: the gateway may be ended in the middle of its work`, fix)
  if (heapBytes > totalBytes)
    return warning(
      `Node may take ${formatSize(heapBytes)} for objects, and there are only ${formatSize(totalBytes)} of memory`,
      'Start Node with --max-old-space-size, about three quarters of the memory in MiB.',
    )
  return availableBytes < 128 * mib ? warning(seen, fix) : ok(seen)
}

export function judgeDisk({ freeBytes, totalBytes, freeFiles, totalFiles }: DiskFacts): Verdict {
  const fix = 'Make room on the disk of the data folder, or move "data" to a larger one.'
  const seen = `${formatSize(freeBytes)} of ${formatSize(totalBytes)} are free on the disk of the data folder`
  if (freeBytes < 100 * mib) return failure(`${seen}: a full disk stops the gateway`, fix)
  if (totalFiles > 0 && freeFiles < 1000)
    return failure(`the disk of the data folder has room for ${freeFiles} more files only`, fix)
  return freeBytes < gib ? warning(seen, fix) : ok(seen)
}

export function formatSize(bytes: number): string {
  return bytes < gib ? `${Math.round(bytes / mib)} MiB` : `${(bytes / gib).toFixed(1)} GiB`
}
