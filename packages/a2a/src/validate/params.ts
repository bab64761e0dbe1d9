// Checks the parameters of every operation.
import { isJsonObject } from '@postern/message'
import { z } from 'zod'
import { A2aRejection } from '../format/errors.ts'
import type { WireMessage } from '../format/wire.ts'
import { wireStates, zeroStates } from '../format/wire.ts'
import { arrayOf, boolean, findWrongMembers, integer, object, oneOf, optional, shapeOf, zeroOr } from './checks.ts'
import { anyText, bytes, fileUrl, headerText, identifier, line, media, time, token } from './texts.ts'

/** Checks a part (A2A §4.1.6). `data` is any JSON value, also `null`, so its presence counts. */
export const wirePartSchema = shapeOf({
  text: optional(anyText),
  raw: optional(bytes),
  url: optional(fileUrl),
  data: z.unknown().optional(),
  metadata: optional(object),
  // A file may have any name, because admission makes it safe, as in every channel.
  filename: optional(anyText),
  mediaType: optional(media),
}).refine(hasOneContent, 'must hold exactly one of text, raw, url, data')

function hasOneContent(members: Readonly<Record<string, unknown>>): boolean {
  const presentContents = ['text', 'raw', 'url'].filter(name => members[name] !== undefined && members[name] !== null)
  return presentContents.length + (Object.hasOwn(members, 'data') ? 1 : 0) === 1
}

/** Checks a client's message. Only the gateway may use the role of the agent. */
const userMessageSchema = shapeOf({
  messageId: identifier(256),
  role: oneOf(['ROLE_USER']),
  parts: arrayOf(wirePartSchema, { min: 1, max: 1000 }),
  contextId: optional(line(256)),
  taskId: optional(anyText),
  metadata: optional(object),
  extensions: optional(arrayOf(identifier(2048), { max: 100 })),
  referenceTaskIds: optional(arrayOf(identifier(256), { max: 100 })),
})

/** Checks the tenant. Our interfaces in JSON declare no tenant, so every tenant is unknown (A2A §8.3). */
const tenantSchema = z.literal('', 'is not a tenant of this agent')

const commonParams = { tenant: optional(tenantSchema), metadata: optional(object) }

/** A client's subscription to a task's push notifications (A2A §4.3.1). */
export type PushConfig = z.output<typeof pushConfigSchema>

/** Checks a push configuration. Each member may become a header or a part of one. */
const pushConfigSchema = shapeOf({
  id: optional(headerText(128)),
  url: anyText,
  token: optional(headerText(1024)),
  authentication: optional(shapeOf({ scheme: token(64), credentials: optional(headerText(4096)) })),
})

const configurationSchema = shapeOf({
  acceptedOutputModes: optional(arrayOf(line(255), { max: 100 })),
  taskPushNotificationConfig: optional(pushConfigSchema),
  historyLength: optional(integer()),
  returnImmediately: optional(boolean),
})

/** The checks of the parameters of every operation, each compiled once. */
export const paramsSchemas = {
  SendMessage: shapeOf({ ...commonParams, message: userMessageSchema, configuration: optional(configurationSchema) }),
  GetTask: shapeOf({ ...commonParams, id: anyText, historyLength: optional(integer()) }),
  CancelTask: shapeOf({ ...commonParams, id: anyText }),
  SubscribeToTask: shapeOf({ ...commonParams, id: anyText }),
  CreateTaskPushNotificationConfig: shapeOf({ ...commonParams, taskId: anyText, ...pushConfigSchema.shape }),
  GetTaskPushNotificationConfig: shapeOf({ ...commonParams, taskId: anyText, id: anyText }),
  DeleteTaskPushNotificationConfig: shapeOf({ ...commonParams, taskId: anyText, id: anyText }),
  ListTaskPushNotificationConfigs: shapeOf({
    ...commonParams,
    taskId: anyText,
    pageSize: optional(integer({ max: 100 })),
    pageToken: optional(oneOf([''])),
  }),
  ListTasks: shapeOf({
    ...commonParams,
    contextId: optional(line(256)),
    status: optional(zeroOr(zeroStates, oneOf(wireStates))),
    statusTimestampAfter: optional(time),
    pageSize: optional(zeroOr([0], integer({ min: 1, max: 100 }))),
    pageToken: optional(line(1024)),
    historyLength: optional(integer()),
    includeArtifacts: optional(boolean),
  }),
} as const satisfies Readonly<Record<string, z.ZodType>>

/** The parameters of an operation that have passed their checks. */
export type ParamsOf<Name extends keyof typeof paramsSchemas> = z.output<(typeof paramsSchemas)[Name]>

/** The parameters of SendMessage. Their `message` has the type `WireMessage`, which messages of both directions share. */
export type SendMessageParams = Omit<ParamsOf<'SendMessage'>, 'message'> & { readonly message: WireMessage }

/**
 * Checks the parameters of an operation and returns them as the client wrote them, with the members that we do not know.
 * @throws A2aRejection `invalidParams` with every invalid member
 */
export function checkParams<Name extends keyof typeof paramsSchemas>(name: Name, value: unknown): ParamsOf<Name> {
  if (!isJsonObject(value)) throw new A2aRejection('invalidParams', `Cannot ${name}: params must be an object`)
  const violations = findWrongMembers(paramsSchemas[name], value)
  const [firstViolation] = violations
  if (firstViolation)
    throw new A2aRejection('invalidParams', `Cannot ${name}: ${firstViolation.field} ${firstViolation.description}`, {
      violations,
    })
  return value as ParamsOf<Name>
}
