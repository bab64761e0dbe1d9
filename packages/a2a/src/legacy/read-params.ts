// Converts requests of A2A 0.3 to those of 1.0.
import { isJsonObject } from '@postern/message'
import type { OperationName } from '../format/wire.ts'

type JsonObject = Readonly<Record<string, unknown>>

/**
 * The operation of 1.0 and the conversion of the parameters for a method of A2A 0.3. Invalid members stay unchanged, and the validator of 1.0
 * rejects them.
 */
interface LegacyMethod {
  readonly operation: OperationName
  readonly readParams: (params: JsonObject) => JsonObject
}

const keepParams = (params: JsonObject): JsonObject => params

const legacyMethods: Readonly<Record<string, LegacyMethod>> = {
  'message/send': { operation: 'SendMessage', readParams: readSendParams },
  'message/stream': { operation: 'SendStreamingMessage', readParams: readSendParams },
  'tasks/get': { operation: 'GetTask', readParams: keepParams },
  'tasks/cancel': { operation: 'CancelTask', readParams: keepParams },
  'tasks/resubscribe': { operation: 'SubscribeToTask', readParams: keepParams },
  'tasks/pushNotificationConfig/set': { operation: 'CreateTaskPushNotificationConfig', readParams: readSetParams },
  'tasks/pushNotificationConfig/get': { operation: 'GetTaskPushNotificationConfig', readParams: readConfigKey },
  'tasks/pushNotificationConfig/list': { operation: 'ListTaskPushNotificationConfigs', readParams: readConfigKey },
  'tasks/pushNotificationConfig/delete': { operation: 'DeleteTaskPushNotificationConfig', readParams: readConfigKey },
  'agent/getAuthenticatedExtendedCard': { operation: 'GetExtendedAgentCard', readParams: keepParams },
}

/** Returns the operation of 1.0 for a method of 0.3, with its parameters, or undefined if 0.3 has no such method. */
export function readLegacyRequest(
  method: string,
  params: unknown,
): { readonly name: OperationName; readonly params: unknown } | undefined {
  const legacyMethod = Object.hasOwn(legacyMethods, method) ? legacyMethods[method] : undefined
  if (!legacyMethod) return undefined
  return { name: legacyMethod.operation, params: isJsonObject(params) ? legacyMethod.readParams(params) : params }
}

function readSendParams({ message, configuration, metadata }: JsonObject): JsonObject {
  return {
    message: isJsonObject(message) ? readMessage(message) : message,
    ...(configuration !== undefined && {
      configuration: isJsonObject(configuration) ? readConfiguration(configuration) : configuration,
    }),
    ...(metadata !== undefined && { metadata }),
  }
}

const roles: Readonly<Record<string, string>> = { user: 'ROLE_USER', agent: 'ROLE_AGENT' }

function readMessage({ kind: _, role, parts, ...members }: JsonObject): JsonObject {
  const protocolRole = typeof role === 'string' && Object.hasOwn(roles, role) ? roles[role] : role
  return { ...members, role: protocolRole, parts: Array.isArray(parts) ? parts.map(readPart) : parts }
}

const partReaders: Readonly<Record<string, (part: JsonObject) => JsonObject>> = {
  text: ({ text, metadata }) => ({ text, ...(metadata !== undefined && { metadata }) }),
  file: ({ file, metadata }) => ({ ...readFile(file), ...(metadata !== undefined && { metadata }) }),
  data: ({ data, metadata }) => ({ data, ...(metadata !== undefined && { metadata }) }),
}

function readPart(part: unknown): unknown {
  if (!isJsonObject(part) || typeof part.kind !== 'string') return {}
  return Object.hasOwn(partReaders, part.kind) ? partReaders[part.kind]?.(part) : {}
}

/** Converts a file, which has `bytes` or `uri` in JSON-RPC. The protobuf file of 0.3 has longer names. */
function readFile(file: unknown): JsonObject {
  if (!isJsonObject(file)) return {}
  const { fileWithBytes, fileWithUri, bytes = fileWithBytes, uri = fileWithUri, mimeType, name } = file
  return {
    ...(bytes !== undefined && { raw: bytes }),
    ...(uri !== undefined && { url: uri }),
    ...(mimeType !== undefined && { mediaType: mimeType }),
    ...(name !== undefined && { filename: name }),
  }
}

/** Converts the configuration of a call. Its `blocking` in 0.3 is the opposite of `returnImmediately` in 1.0. */
function readConfiguration({ blocking, pushNotificationConfig, ...members }: JsonObject): JsonObject {
  return {
    ...members,
    ...(blocking !== undefined && { returnImmediately: typeof blocking === 'boolean' ? !blocking : blocking }),
    ...(pushNotificationConfig !== undefined && { taskPushNotificationConfig: readPushConfig(pushNotificationConfig) }),
  }
}

function readSetParams({ taskId, pushNotificationConfig }: JsonObject): JsonObject {
  const config = readPushConfig(pushNotificationConfig)
  return { ...(isJsonObject(config) ? config : {}), taskId }
}

function readPushConfig(config: unknown): unknown {
  if (!isJsonObject(config) || !isJsonObject(config.authentication)) return config
  const { schemes, credentials } = config.authentication
  const scheme = Array.isArray(schemes) ? schemes[0] : schemes
  return { ...config, authentication: { scheme, ...(credentials !== undefined && { credentials }) } }
}

/** Converts the key of a push configuration. In 0.3, `id` is the id of the task. */
function readConfigKey({ id, pushNotificationConfigId }: JsonObject): JsonObject {
  return { taskId: id, ...(pushNotificationConfigId !== undefined && { id: pushNotificationConfigId }) }
}

/** Returns the request without its delivery options, which are not stored with the message. */
export function stripLegacyPush(document: unknown): unknown {
  if (!isJsonObject(document) || !isJsonObject(document.params) || !isJsonObject(document.params.configuration))
    return document
  const { pushNotificationConfig, ...configuration } = document.params.configuration
  return pushNotificationConfig === undefined
    ? document
    : { ...document, params: { ...document.params, configuration } }
}

/** Our client also reads the answers of agents that use 0.3 with these functions. */
export { readMessage as readLegacyMessage, readPart as readLegacyPart }
