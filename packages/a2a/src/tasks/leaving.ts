// Waits until the workers of a canceled task have left it, so that the task shows what they streamed.
import type { System } from '@postern/message'
import type { Store, TaskRecord } from '@postern/pipeline'
import { isTurnLeft } from '@postern/pipeline'
import { isSettled, listOpenMessages } from './task-waiter.ts'

interface LeavingDeps {
  readonly tasks: Pick<Store, 'listen'>
  readonly system: Pick<System, 'sleep'>
}

/** The longest wait, ms, because perhaps no worker has started the turn. */
const leavingMs = 500

/** Starts to listen before the task is canceled. `end` waits for the worker, or stops listening at once. */
export function expectLeaving(task: TaskRecord, { tasks, system }: LeavingDeps) {
  const left = new AbortController()
  const messages = isSettled(task) ? [] : listOpenMessages(task)
  const listening = messages.map(message =>
    tasks.listen(`message:${message}`, notice => {
      if (isTurnLeft(notice)) left.abort()
    }),
  )
  return {
    async end(isCanceled: boolean): Promise<void> {
      if (isCanceled && messages.length > 0) await system.sleep(leavingMs, left.signal)
      for (const unlisten of listening) unlisten()
    },
  }
}
