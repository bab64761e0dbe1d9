// Orders the test files so that slow tests of whole gateways begin early.
import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/** The number of package test files that run after each test of a whole gateway, while there are any. */
const quickFilesPerSlowFile = 2

/**
 * Runs the tests of whole gateways early. They take seconds each, so one that begins last would keep all other workers waiting. They mostly
 * wait themselves, so files that need the processor run between them.
 */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sortedFiles = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => moduleId.includes('/apps/gateway/test/')
    const quickFiles = sortedFiles.filter(file => !isSlow(file))
    const mixed = sortedFiles
      .filter(isSlow)
      .flatMap((file, index) => [
        file,
        ...quickFiles.slice(index * quickFilesPerSlowFile, (index + 1) * quickFilesPerSlowFile),
      ])
    return [...new Set([...mixed, ...quickFiles])]
  }
}
