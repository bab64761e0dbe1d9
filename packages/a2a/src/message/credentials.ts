import { isJsonObject } from '@postern/core'

/** Credentials in a message. The endpoint consumes them, and the store never keeps them. */
export const evidence: readonly string[] = ['verifiable_credentials', 'identity_evidence']
/** A checked decision is stored as its result, without its proof. */
const carriers: readonly string[] = [...evidence, 'policy_resolution']

/** The names in JSON and in protobuf, because the raw request may use either. */
const pushConfigs = ['taskPushNotificationConfig', 'task_push_notification_config']

/** The request without credentials. Without any it is the same object, so that its bytes stay unchanged. */
export function stripCredentials(request: unknown): unknown {
  if (!isJsonObject(request) || !isJsonObject(request.params)) return request
  const { params } = request
  const message = stripMessage(params.message)
  const configuration = stripConfiguration(params.configuration)
  // The gateway reads none of these, but a caller may have put them here.
  const outer = stripMessage(params) as typeof params
  if (message === params.message && configuration === params.configuration && outer === params) return request
  return { ...request, params: { ...outer, message, configuration } }
}

/** The message without credentials. */
export function stripMessage(message: unknown, names = carriers): unknown {
  if (!isJsonObject(message) || !isJsonObject(message.metadata) || !isJsonObject(message.metadata.mentionable))
    return message
  const { mentionable } = message.metadata
  const rest = leaveOut(mentionable, names)
  return rest === mentionable ? message : { ...message, metadata: { ...message.metadata, mentionable: rest } }
}

function stripConfiguration(configuration: unknown): unknown {
  return isJsonObject(configuration) ? leaveOut(configuration, pushConfigs) : configuration
}

function leaveOut(
  object: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!names.some(name => Object.hasOwn(object, name))) return object
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}
