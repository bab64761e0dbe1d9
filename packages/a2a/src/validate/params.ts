import type { FieldViolation } from '@postern/core'
import { isJsonObject, parseUrl } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'
import type { WirePart } from '../format/wire.ts'
import { wireStates, zeroStates } from '../format/wire.ts'

/**
 * A compiled check. `undefined` when the value is valid; else the faults, with fields relative to the value, so that valid messages cost no
 * paths.
 */
export type ValueCheck = (value: unknown) => readonly FieldViolation[] | undefined

/** A member of an object. ProtoJSON reads `null` as absent (`Value` excepted). */
export interface Member {
  readonly check: ValueCheck
  readonly isRequired: boolean
}

/** Enough faults to fix a request. Ten thousand bad parts do not cause ten thousand lines. */
const maxViolations = 16

/** The fault of the value itself. */
function violate(description: string): readonly FieldViolation[] {
  return [{ field: '', description }]
}

export function required(check: ValueCheck): Member {
  return { check, isRequired: true }
}

export function optional(check: ValueCheck): Member {
  return { check, isRequired: false }
}

/** An object with these members; it ignores others (A2A §5.7). */
export function shapeOf(members: Readonly<Record<string, Member>>, extra?: ValueCheck): ValueCheck {
  const rows = Object.entries(members)
  return value => {
    if (!isJsonObject(value)) return violate('must be an object')
    let found: FieldViolation[] | undefined
    for (const [name, member] of rows) {
      const violations = checkMember(value[name], member)
      if (violations) found = gather(found, name, violations)
    }
    return found ?? extra?.(value)
  }
}

function checkMember(value: unknown, { check, isRequired }: Member): readonly FieldViolation[] | undefined {
  if (value === undefined || value === null) return isRequired ? violate('is required') : undefined
  return check(value)
}

export function arrayOf(
  item: ValueCheck,
  { min = 0, max }: { readonly min?: number; readonly max: number },
): ValueCheck {
  return value => {
    if (!Array.isArray(value)) return violate('must be an array')
    if (value.length < min) return violate(`must hold at least ${min}`)
    if (value.length > max) return violate(`must hold at most ${max}`)
    let found: FieldViolation[] | undefined
    for (let at = 0; at < value.length; at += 1) {
      const violations = item(value[at])
      if (violations) found = gather(found, `[${at}]`, violations)
    }
    return found
  }
}

function gather(found: FieldViolation[] = [], name: string, violations: readonly FieldViolation[]): FieldViolation[] {
  for (const { field, description } of violations) {
    if (found.length < maxViolations) found.push({ field: joinField(name, field), description })
  }
  return found
}

function joinField(name: string, field: string): string {
  return field === '' || field.startsWith('[') ? name + field : `${name}.${field}`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const control = /[\u0000-\u001f\u007f]/
const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const equalsSign = 0x3d
const timestamp = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
const mediaType = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}([ \t]*;[\x20-\x7e]*)?$/
const maxInt32 = 2 ** 31 - 1

/** Text of any characters. */
const anyText: ValueCheck = value => (typeof value === 'string' ? undefined : violate('must be a string'))

/** An identifier: one line, not empty, bounded. */
export function identifier(max: number): ValueCheck {
  return value => {
    if (typeof value !== 'string') return violate('must be a string')
    if (value === '') return violate('must not be empty')
    if (value.length > max || control.test(value)) return violate(`must be one line of at most ${max} characters`)
    // A store would turn every lone surrogate into the same character.
    return value.isWellFormed() ? undefined : violate('must be well-formed Unicode')
  }
}

/** A string that proto3 reads as absent if it is empty. */
export function line(max: number): ValueCheck {
  const check = identifier(max)
  return value => (value === '' ? undefined : check(value))
}

const visible = /^[\x20-\x7e]*$/

/** Text that fits a header; proto3 reads an empty one as absent. */
function headerText(max: number): ValueCheck {
  return likeText(visible, 'visible ASCII', max)
}

function likeText(pattern: RegExp, what: string, max: number): ValueCheck {
  return value =>
    typeof value === 'string' && value.length <= max && pattern.test(value)
      ? undefined
      : violate(`must be ${what} of at most ${max} characters`)
}

const tokenPattern = /^[\w!#$%&'*+.^`|~-]+$/

/** A token of RFC 9110 §5.6.2. */
function token(max: number): ValueCheck {
  return likeText(tokenPattern, 'a token', max)
}

export function oneOf(values: readonly string[]): ValueCheck {
  const known = new Set<unknown>(values)
  return value => (known.has(value) ? undefined : violate(`must be one of ${values.join(', ')}`))
}

function integer({ min = 0, max = maxInt32 }: { readonly min?: number; readonly max?: number } = {}): ValueCheck {
  return value =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? undefined
      : violate(`must be an integer from ${min} to ${max}`)
}

const boolean: ValueCheck = value => (typeof value === 'boolean' ? undefined : violate('must be true or false'))

export const object: ValueCheck = value => (isJsonObject(value) ? undefined : violate('must be an object'))

/** ProtoJSON reads the standard and the URL-safe alphabet, padded or not. */
const bytes: ValueCheck = value => {
  if (typeof value !== 'string') return violate('must be a base64 string')
  return base64.test(value) && countDigits(value) % 4 !== 1 ? undefined : violate('must be base64')
}

/** Without padding. A loop, because `/=+$/` takes quadratic time for many signs before another character. */
function countDigits(value: string): number {
  let end = value.length
  while (value.charCodeAt(end - 1) === equalsSign) end -= 1
  return end
}

/** The address of a file: https, without credentials. The gateway never fetches it. */
const fileUrl: ValueCheck = value => {
  const url = typeof value === 'string' ? parseUrl(value) : undefined
  if (!url) return violate('must be an absolute URL')
  return url.protocol === 'https:' && !url.username && !url.password
    ? undefined
    : violate('must be an https URL without credentials')
}

const media: ValueCheck = value =>
  value === '' || (typeof value === 'string' && mediaType.test(value)) ? undefined : violate('must be a media type')

/** RFC 3339, as ProtoJSON writes timestamps. */
const time: ValueCheck = value => {
  const [, day] = (typeof value === 'string' && timestamp.exec(value)) || []
  return day !== undefined && isDay(day) ? undefined : violate('must be an ISO 8601 timestamp')
}

/** `Date` would read 30 February as 2 March. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`)
  return !text.startsWith('0000') && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** A member with the zero value of its type counts as absent, as in proto3. */
function zeroOr(zeros: readonly unknown[], check: ValueCheck): ValueCheck {
  return value => (zeros.includes(value) ? undefined : check(value))
}

/** A part has exactly one of four contents (A2A §4.1.6). `data` is any JSON value, also `null`, so its presence counts. */
const oneContent: ValueCheck = part => {
  const members = part as Readonly<Record<string, unknown>>
  const present = ['text', 'raw', 'url'].filter(name => members[name] !== undefined && members[name] !== null)
  const count = present.length + (Object.hasOwn(members, 'data') ? 1 : 0)
  return count === 1 ? undefined : violate('must hold exactly one of text, raw, url, data')
}

/** One part (A2A §4.1.6). */
export const part = shapeOf(
  {
    text: optional(anyText),
    raw: optional(bytes),
    url: optional(fileUrl),
    metadata: optional(object),
    filename: optional(line(1024)),
    mediaType: optional(media),
  },
  oneContent,
)

/** A client's message. Only the gateway may use the role of the agent. */
const userMessage = shapeOf({
  messageId: required(identifier(256)),
  role: required(oneOf(['ROLE_USER'])),
  parts: required(arrayOf(part, { min: 1, max: 1000 })),
  contextId: optional(line(256)),
  taskId: optional(anyText),
  metadata: optional(object),
  extensions: optional(arrayOf(identifier(2048), { max: 100 })),
  referenceTaskIds: optional(arrayOf(identifier(256), { max: 100 })),
})

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

/** Members by their names in the protobuf file. */
const protoNames: Readonly<Record<string, string>> = {
  message_id: 'messageId',
  context_id: 'contextId',
  task_id: 'taskId',
  reference_task_ids: 'referenceTaskIds',
  media_type: 'mediaType',
  accepted_output_modes: 'acceptedOutputModes',
  task_push_notification_config: 'taskPushNotificationConfig',
  history_length: 'historyLength',
  return_immediately: 'returnImmediately',
  page_size: 'pageSize',
  page_token: 'pageToken',
  status_timestamp_after: 'statusTimestampAfter',
  include_artifacts: 'includeArtifacts',
}

/** Where members of the protocol may be. The content of `data` and `metadata` is the caller's own. */
const inside: Readonly<Record<string, (value: unknown) => unknown>> = {
  message: readProtoNames,
  configuration: readProtoNames,
  taskPushNotificationConfig: readProtoNames,
  parts: value => (Array.isArray(value) ? mapChanged(value, readProtoNames) : value),
}

/**
 * Parameters with the JSON names of all members, because ProtoJSON allows either. If both occur, the JSON name counts. Usually nothing
 * changes, and it returns the same object.
 */
export function readProtoNames(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  let changed: Record<string, unknown> | undefined
  for (const [name, member] of Object.entries(value)) {
    const known = Object.hasOwn(protoNames, name) ? protoNames[name] : undefined
    const wanted = known !== undefined && value[known] === undefined ? known : name
    const read = Object.hasOwn(inside, wanted) ? inside[wanted]?.(member) : member
    if (wanted === name && read === member) continue
    changed ??= { ...value }
    if (wanted !== name) delete changed[name]
    changed[wanted] = read
  }
  return changed ?? value
}

function mapChanged(items: readonly unknown[], read: (item: unknown) => unknown): readonly unknown[] {
  let changed: unknown[] | undefined
  for (const [at, item] of items.entries()) {
    const next = read(item)
    if (next === item) continue
    changed ??= [...items]
    changed[at] = next
  }
  return changed ?? items
}

/** The default type of a part, which the card also declares. */
export const impliedTypes = {
  text: 'text/plain',
  raw: 'application/octet-stream',
  url: 'application/octet-stream',
  data: 'application/json',
} as const

export type PartContent = keyof typeof impliedTypes

/** Which of its four contents a checked part has. `data` may be null, so its presence decides. */
export function contentOf(part: WirePart): PartContent {
  if (typeof part.text === 'string') return 'text'
  if (typeof part.raw === 'string') return 'raw'
  return typeof part.url === 'string' ? 'url' : 'data'
}

/** `type/subtype` of a part in lower case, without parameters. */
export function mediaTypeOf(part: WirePart): string {
  const [type = ''] = (part.mediaType ?? '').split(';')
  return type.trim().toLowerCase() || impliedTypes[contentOf(part)]
}
