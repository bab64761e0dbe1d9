import type { Store } from '@postern/pipeline'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
let bobToken: string
const storeCalls: string[] = []

/** Returns the store with a log of its calls by name. If results differed, the next calls would differ too. */
function watchCalls(store: Store): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const member = target[name]
      if (typeof member !== 'function' || name === 'listen' || name === 'refuse') return member
      return (...values: never[]) => {
        storeCalls.push(name)
        return (member as (...values: never[]) => unknown).apply(target, values)
      }
    },
  })
}

beforeAll(async () => {
  gateway = await openA2aGateway({ watchStore: watchCalls, runsWorker: false })
  bobToken = await gateway.issuer.sign({ sub: 'bob' })
})
afterAll(() => gateway.close())
beforeEach(() => {
  storeCalls.length = 0
})

const url = 'https://example.com/hook'
const operations = {
  GetTask: (id: string) => ({ id }),
  CancelTask: (id: string) => ({ id }),
  SubscribeToTask: (id: string) => ({ id }),
  SendMessage: (taskId: string) => ({ message: { messageId: 'm', taskId, role: 'ROLE_USER', parts: [{ text: 'x' }] } }),
  SendStreamingMessage: (taskId: string) => ({
    message: { messageId: 'm', taskId, role: 'ROLE_USER', parts: [{ text: 'x' }] },
  }),
  CreateTaskPushNotificationConfig: (taskId: string) => ({ taskId, url }),
  GetTaskPushNotificationConfig: (taskId: string) => ({ taskId, id: 'a' }),
  ListTaskPushNotificationConfigs: (taskId: string) => ({ taskId }),
  DeleteTaskPushNotificationConfig: (taskId: string) => ({ taskId, id: 'a' }),
} as const

/**
 * Time cannot be tested on a machine that others use too. But both cases must make the same call of the store: one look-up by
 * owner and id, which finds nothing.
 */
test.each(Object.entries(operations))(
  '%s takes the same steps for another caller’s task as for an unknown one (A2A-T02)',
  async (name, params) => {
    const openTask = await gateway.sendText('x', {}, { configuration: { returnImmediately: true } })
    const { id } = openTask.body.result.task
    const callAndLog = async (taskId: string) => {
      storeCalls.length = 0
      const { text } = await gateway.rpc(name, params(taskId), { token: bobToken })
      return { text, steps: [...storeCalls] }
    }
    const foreignResult = await callAndLog(id)
    expect(foreignResult.steps).toEqual(['findTask'])
    expect(foreignResult).toEqual(await callAndLog('01234567-89ab-7def-8123-456789abcdef'))
    expect(foreignResult.text).toContain('TASK_NOT_FOUND')
  },
)
