import { isObject } from '../validate/shape.ts'

/** What a request carries to prove something by; used up at the endpoint, never stored. */
export const evidence: readonly string[] = ['verifiable_credentials', 'identity_evidence']
/** A decision is kept as what it is once it has been checked, without what it was proven by. */
const carriers: readonly string[] = [...evidence, 'policy_resolution']

/** By its name in JSON and by the one of the protobuf file, which the raw request may use. */
const pushConfigs = ['taskPushNotificationConfig', 'task_push_notification_config']

/** The request without credentials; the same object when there are none, so that its bytes can be kept as they came. */
export function stripCredentials(request: unknown): unknown {
  if (!isObject(request) || !isObject(request.params)) return request
  const { params } = request
  const message = stripMessage(params.message)
  const configuration = stripConfiguration(params.configuration)
  // Nobody reads them there; a caller may have put them there all the same.
  const outer = stripMessage(params) as typeof params
  if (message === params.message && configuration === params.configuration && outer === params) return request
  return { ...request, params: { ...outer, message, configuration } }
}

/** The message without credentials. */
export function stripMessage(message: unknown, names = carriers): unknown {
  if (!isObject(message) || !isObject(message.metadata) || !isObject(message.metadata.mentionable)) return message
  const { mentionable } = message.metadata
  const rest = leaveOut(mentionable, names)
  return rest === mentionable ? message : { ...message, metadata: { ...message.metadata, mentionable: rest } }
}

function stripConfiguration(configuration: unknown): unknown {
  return isObject(configuration) ? leaveOut(configuration, pushConfigs) : configuration
}

function leaveOut(
  object: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!names.some(name => Object.hasOwn(object, name))) return object
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}
