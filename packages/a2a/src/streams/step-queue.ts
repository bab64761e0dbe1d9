import type { Platform } from '@postern/core'
import type { FeedStep } from './feed-state.ts'

interface StepQueue {
  add(step: FeedStep): void
  /** Drops the steps that have not begun. */
  close(): void
}

/** Runs steps one after the other. After a failed step the next ones run all the same: a later look finds what it left out. */
export function createStepQueue({ log }: Pick<Platform, 'log'>): StepQueue {
  const steps: FeedStep[] = []
  let isRunning = false
  let isClosed = false

  async function run(): Promise<void> {
    isRunning = true
    for (let step = steps.shift(); step && !isClosed; step = steps.shift()) {
      try {
        await step()
      } catch (error) {
        log.warn({ err: error, via: 'a2a' }, 'a stream could not be continued')
      }
    }
    isRunning = false
  }

  return {
    add(step) {
      steps.push(step)
      if (!isRunning) void run()
    },
    close() {
      isClosed = true
    },
  }
}
