import { isJsonObject } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'
import { wireStates, zeroStates } from '../format/states.ts'
import { anyText, boolean, headerText, integer, line, object, oneOf, time, token, zeroOr } from './leaves.ts'
import { userMessage } from './message.ts'
import type { ValueCheck } from './shape.ts'
import { arrayOf, optional, required, shapeOf, violate } from './shape.ts'

/** None of our interfaces declares a tenant, so every tenant is unknown (A2A §8.3). */
const noTenant: ValueCheck = value => (value === '' ? undefined : violate('is not a tenant of this agent'))

const common = { tenant: optional(noTenant), metadata: optional(object) }

/** Every member may become a header or a part of one. */
const pushConfig = {
  id: optional(headerText(128)),
  url: required(anyText),
  token: optional(headerText(1024)),
  authentication: optional(shapeOf({ scheme: required(token(64)), credentials: optional(headerText(4096)) })),
} as const

const configuration = shapeOf({
  acceptedOutputModes: optional(arrayOf(line(255), { max: 100 })),
  taskPushNotificationConfig: optional(shapeOf(pushConfig)),
  historyLength: optional(integer()),
  returnImmediately: optional(boolean),
})

/** The parameters of every operation, each compiled once. */
export const params = {
  SendMessage: shapeOf({ ...common, message: required(userMessage), configuration: optional(configuration) }),
  GetTask: shapeOf({ ...common, id: required(anyText), historyLength: optional(integer()) }),
  CancelTask: shapeOf({ ...common, id: required(anyText) }),
  SubscribeToTask: shapeOf({ ...common, id: required(anyText) }),
  CreateTaskPushNotificationConfig: shapeOf({ ...common, taskId: required(anyText), ...pushConfig }),
  GetTaskPushNotificationConfig: shapeOf({ ...common, taskId: required(anyText), id: required(anyText) }),
  DeleteTaskPushNotificationConfig: shapeOf({ ...common, taskId: required(anyText), id: required(anyText) }),
  ListTaskPushNotificationConfigs: shapeOf({
    ...common,
    taskId: required(anyText),
    pageSize: optional(integer({ max: 100 })),
    pageToken: optional(oneOf([''])),
  }),
  ListTasks: shapeOf({
    ...common,
    contextId: optional(line(256)),
    status: optional(zeroOr(zeroStates, oneOf(wireStates))),
    statusTimestampAfter: optional(time),
    pageSize: optional(zeroOr([0], integer({ min: 1, max: 100 }))),
    pageToken: optional(line(1024)),
    historyLength: optional(integer()),
    includeArtifacts: optional(boolean),
  }),
} as const satisfies Readonly<Record<string, ValueCheck>>

/** Checks the parameters of an operation. @throws A2aRejection `invalidParams` with every wrong member */
export function checkParams(name: keyof typeof params, value: unknown): void {
  if (!isJsonObject(value)) throw new A2aRejection('invalidParams', `Cannot ${name}: params must be an object`)
  const violations = params[name](value)
  if (violations) {
    const [first] = violations
    throw new A2aRejection('invalidParams', `Cannot ${name}: ${first?.field} ${first?.description}`, { violations })
  }
}
