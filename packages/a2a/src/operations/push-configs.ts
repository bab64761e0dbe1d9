import type { TaskKey, TaskWatch } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import type { OperationName, WirePushConfig } from '../format/wire.ts'
import { createWatch, refuseMore, showWatch } from '../push/watch.ts'
import { findOwnTask } from '../tasks/own-tasks.ts'
import { checkParams } from '../validate/params.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

interface ConfigKey {
  readonly taskId: string
  readonly id: string
}

type PushOperation = Extract<OperationName, `${string}PushNotificationConfig${string}`>

/** Operations on push notification configurations (A2A §3.1.7 to §3.1.10), for the caller's own tasks only. */
export function createPushOperations({
  gateway,
  tasks,
}: A2aOperationDeps): Readonly<Record<PushOperation, A2aOperation>> {
  const { store } = gateway
  const findTask = async (operation: PushOperation, call: Call): Promise<TaskKey> => {
    checkParams(operation, call.params)
    const { owner, id } = await findOwnTask((call.params as ConfigKey).taskId, call, tasks)
    return { owner, id }
  }
  const findWatch = async (key: TaskKey, wanted: string): Promise<TaskWatch> => {
    const found = (await store.listWatches(key)).find(({ id }) => id === wanted)
    if (!found) throw new A2aRejection('taskNotFound', 'Task not found')
    return found
  }
  return {
    async CreateTaskPushNotificationConfig(call) {
      const key = await findTask('CreateTaskPushNotificationConfig', call)
      const place = { key, version: call.version, fields: { task: 'taskId', url: 'url' } }
      const watch = await createWatch(call.params as WirePushConfig, place, gateway)
      const outcome = await store.watchTask(key, watch)
      if (outcome === 'full') throw refuseMore('taskId')
      if (outcome === 'unknown') throw new A2aRejection('taskNotFound', 'Task not found')
      return showWatch(watch, key.id)
    },
    async GetTaskPushNotificationConfig(call) {
      const key = await findTask('GetTaskPushNotificationConfig', call)
      return showWatch(await findWatch(key, (call.params as ConfigKey).id), key.id)
    },
    async ListTaskPushNotificationConfigs(call) {
      const key = await findTask('ListTaskPushNotificationConfigs', call)
      // All configurations always fit one page.
      return { configs: (await store.listWatches(key)).map(watch => showWatch(watch, key.id)), nextPageToken: '' }
    },
    async DeleteTaskPushNotificationConfig(call) {
      await store.endWatch(await findTask('DeleteTaskPushNotificationConfig', call), (call.params as ConfigKey).id)
      return {}
    },
  }
}
