// Creates, lists and deletes the push notification configurations of callers.
import type { TaskKey, TaskWatch } from '@postern/pipeline'
import type { Call } from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import type { OperationName } from '../format/wire.ts'
import { createPushConfig, refuseTooManyConfigs, renderPushConfig } from '../push/watch.ts'
import { findOwnTask } from '../tasks/own-tasks.ts'
import { checkParams } from '../validate/params.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

type PushOperation = Extract<OperationName, `${string}PushNotificationConfig${string}`>

/** Creates the operations on push notification configurations (A2A §3.1.7 to §3.1.10), for the caller's own tasks only. */
export function createPushOperations({
  gateway,
  tasks,
}: A2aOperationDeps): Readonly<Record<PushOperation, A2aOperation>> {
  const { store } = gateway
  const findTask = async ({ taskId }: { readonly taskId: string }, call: Call): Promise<TaskKey> => {
    const { owner, id } = await findOwnTask(taskId, call, tasks)
    return { owner, id }
  }
  const findWatch = async (key: TaskKey, configId: string): Promise<TaskWatch> => {
    const watch = (await store.listWatches(key)).find(({ id }) => id === configId)
    if (!watch) throw new A2aRejection('taskNotFound', 'Task not found')
    return watch
  }
  return {
    async CreateTaskPushNotificationConfig(call) {
      const config = checkParams('CreateTaskPushNotificationConfig', call.params)
      const key = await findTask(config, call)
      const context = { key, version: call.version, fields: { task: 'taskId', url: 'url' } }
      const watch = await createPushConfig(config, context, gateway)
      const outcome = await store.watchTask(key, watch)
      if (outcome === 'full') throw refuseTooManyConfigs('taskId')
      if (outcome === 'unknown') throw new A2aRejection('taskNotFound', 'Task not found')
      return renderPushConfig(watch, key.id)
    },
    async GetTaskPushNotificationConfig(call) {
      const params = checkParams('GetTaskPushNotificationConfig', call.params)
      const key = await findTask(params, call)
      return renderPushConfig(await findWatch(key, params.id), key.id)
    },
    async ListTaskPushNotificationConfigs(call) {
      const key = await findTask(checkParams('ListTaskPushNotificationConfigs', call.params), call)
      // All configurations always fit one page.
      return {
        configs: (await store.listWatches(key)).map(watch => renderPushConfig(watch, key.id)),
        nextPageToken: '',
      }
    },
    async DeleteTaskPushNotificationConfig(call) {
      const params = checkParams('DeleteTaskPushNotificationConfig', call.params)
      await store.endWatch(await findTask(params, call), params.id)
      return {}
    },
  }
}
