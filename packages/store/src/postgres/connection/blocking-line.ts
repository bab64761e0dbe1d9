import { loseLine } from './failure.ts'
import type { LineEvent, StatementRequest } from './messages.ts'
import type { StepResult } from './pipelined-run.ts'
import { toStatementError } from './store-errors.ts'
import type { ThreadOptions } from './thread.ts'
import { startConnectionThread } from './thread.ts'

export interface BlockingLine {
  /** Waits for the answer, and nothing else runs in this thread meanwhile. @throws Unavailable, Rejection, StatementFailed */
  ask(asked: StatementRequest): readonly StepResult[]
  /** Waits for nothing; what fails shows with the next. */
  tell(asked: StatementRequest): void
  /** Hints for all who listen at the same database. */
  announce(payloads: readonly string[]): void
  close(): Promise<void>
}

/**
 * The connection lives in a thread of its own, so that this one can wait for it as for a disk. A thread that does not answer a question in time, or
 * answers another one, is given up with its connection, and a new one takes its place.
 */
export function openBlockingLine(options: ThreadOptions, onEvent: (event: LineEvent) => void): BlockingLine {
  let thread = startConnectionThread(options, onEvent)

  function replaceThread(): void {
    thread.abandon()
    thread = startConnectionThread(options, onEvent)
  }

  return {
    ask(asked) {
      const answer = thread.ask(asked)
      if (!answer) {
        const lost = loseLine('the connection does not answer what it is asked')
        replaceThread()
        onEvent({ lost: lost.message })
        throw toStatementError(lost)
      }
      if ('failure' in answer) throw toStatementError(answer.failure)
      return answer.results
    },
    tell: asked => thread.tell(asked),
    announce: payloads => thread.announce(payloads),
    close: () => thread.close(),
  }
}
