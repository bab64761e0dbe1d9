// Waits until the workers of a canceled task have stopped, so that the task includes the text that they streamed.
import type { System } from '@postern/message'
import type { Store, TaskRecord } from '@postern/pipeline'
import { hasWorkerLeftTurn } from '@postern/pipeline'
import { isSettled, listOpenMessages } from './task-waiter.ts'

interface WorkerExitDeps {
  readonly tasks: Pick<Store, 'listen'>
  readonly system: Pick<System, 'sleep'>
}

/** The longest wait, ms. It is bounded because there may be no worker to wait for. */
const maxWaitMs = 500

/** Starts to listen for the exit of the workers, before the task is canceled. `end` waits for them if the task was canceled. */
export function expectWorkerExit(task: TaskRecord, { tasks, system }: WorkerExitDeps) {
  const exit = new AbortController()
  const messages = isSettled(task) ? [] : listOpenMessages(task)
  const listeners = messages.map(message =>
    tasks.listen(`message:${message}`, notice => {
      if (hasWorkerLeftTurn(notice)) exit.abort()
    }),
  )
  return {
    async end(isCanceled: boolean): Promise<void> {
      if (isCanceled && messages.length > 0) await system.sleep(maxWaitMs, exit.signal)
      for (const stopListening of listeners) stopListening()
    },
  }
}
