// Orders the test files so that slow tests of whole gateways begin early.
import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/** The number of package test files that run after each test of a whole gateway, while there are any. */
const othersPerSlow = 2

/**
 * Runs the tests of whole gateways early. They take seconds each, so one that begins last would keep all other workers waiting. They mostly
 * wait themselves, so files that need the processor run between them.
 */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => moduleId.includes('/apps/gateway/test/')
    const quickFiles = sorted.filter(file => !isSlow(file))
    const mixed = sorted
      .filter(isSlow)
      .flatMap((file, at) => [file, ...quickFiles.slice(at * othersPerSlow, (at + 1) * othersPerSlow)])
    return [...new Set([...mixed, ...quickFiles])]
  }
}
