import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/** Runs the tests of whole gateways first: they take seconds each, and one that begins last keeps all other workers waiting. */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => moduleId.includes('/apps/gateway/test/')
    return [...sorted.filter(isSlow), ...sorted.filter(file => !isSlow(file))]
  }
}
