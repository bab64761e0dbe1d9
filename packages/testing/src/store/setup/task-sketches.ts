// Creates test data for A2A tasks and their watchers for the tests of stores.
import type { Store, TaskKey } from '@postern/pipeline'
import type { IntakeSketch } from './under-test.ts'
import { inThread, leaseOnlyTurn, sketchResponse } from './under-test.ts'

export const adasTask: TaskKey = { owner: 'ada', id: 'task 1' }

export function sketchTaskIntake(key: TaskKey, context = 'ctx'): IntakeSketch {
  return inThread(context, { task: { ...key, context } })
}

export async function answerTask(
  store: Store,
  text: string,
  status: 'completed' | 'input_required' | 'working' = 'completed',
) {
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, { response: sketchResponse(turn, text, status), deliveries: [] })
  return turn
}

/** Sketches a watcher of a task. */
export const sketchWatcher = (id: string) => ({ id, to: `https://hook.test/#${id}`, target: { secret: id } })
