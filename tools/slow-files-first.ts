// Orders the test files so that slow tests of whole gateways begin early.
import { readFileSync } from 'node:fs'
import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/** The number of package test files that run after each test of a whole gateway, while there are any. */
const quickFilesPerSlowFile = 2

/** Returns the longest time that a test of the file may take, ms, or 0 if all its tests have the default limit. */
function readLongestTimeout({ moduleId }: TestSpecification): number {
  const timeouts = readFileSync(moduleId, 'utf8').matchAll(/\btimeout: (\d[\d_]*)/g)
  return Math.max(0, ...Array.from(timeouts, ([, timeout = '']) => Number(timeout.replaceAll('_', ''))))
}

/** Sorts files so that those whose tests may take longer come first. */
function sortByTimeout(files: readonly TestSpecification[]): readonly TestSpecification[] {
  const timeouts = new Map(files.map(file => [file, readLongestTimeout(file)]))
  return files.toSorted((a, b) => (timeouts.get(b) ?? 0) - (timeouts.get(a) ?? 0))
}

/**
 * Runs the tests of whole gateways early, the longest of them first. They take seconds each, so one that begins last would keep all other workers waiting. They mostly
 * wait themselves, so files that need the processor run between them.
 */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sortedFiles = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => moduleId.includes('/apps/gateway/test/')
    const quickFiles = sortedFiles.filter(file => !isSlow(file))
    const mixed = sortByTimeout(sortedFiles.filter(isSlow)).flatMap((file, index) => [
      file,
      ...quickFiles.slice(index * quickFilesPerSlowFile, (index + 1) * quickFilesPerSlowFile),
    ])
    return [...new Set([...mixed, ...quickFiles])]
  }
}
