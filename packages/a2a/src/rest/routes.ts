// Finds the operation for the path and method of an HTTP+JSON request.
import { A2aRejection, MethodNotAllowed } from '../format/errors.ts'
import type { OperationName } from '../format/wire.ts'

/** The path of an operation in the HTTP+JSON binding (A2A §11.3). */
interface RestRoute {
  readonly methods: readonly string[]
  /** The path. `{id}` is one segment, and its name is the member of the parameters. */
  readonly path: string
  readonly operation: OperationName
  /** The source of the other parameters. A `lenient` body may be absent or any JSON value, because older clients send `null` or no body. */
  readonly input: 'body' | 'lenient' | 'query'
}

const configsPath = '/tasks/{taskId}/pushNotificationConfigs'

const restRoutes: readonly RestRoute[] = [
  { methods: ['POST'], path: '/message:send', operation: 'SendMessage', input: 'body' },
  { methods: ['POST'], path: '/message:stream', operation: 'SendStreamingMessage', input: 'body' },
  { methods: ['GET'], path: '/tasks', operation: 'ListTasks', input: 'query' },
  { methods: ['GET'], path: '/tasks/{id}', operation: 'GetTask', input: 'query' },
  { methods: ['POST'], path: '/tasks/{id}:cancel', operation: 'CancelTask', input: 'lenient' },
  // The protobuf file has GET, and the specification's text has POST.
  { methods: ['GET'], path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask', input: 'query' },
  { methods: ['POST'], path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask', input: 'lenient' },
  { methods: ['POST'], path: configsPath, operation: 'CreateTaskPushNotificationConfig', input: 'body' },
  { methods: ['GET'], path: configsPath, operation: 'ListTaskPushNotificationConfigs', input: 'query' },
  { methods: ['GET'], path: `${configsPath}/{id}`, operation: 'GetTaskPushNotificationConfig', input: 'query' },
  { methods: ['DELETE'], path: `${configsPath}/{id}`, operation: 'DeleteTaskPushNotificationConfig', input: 'query' },
  { methods: ['GET'], path: '/extendedAgentCard', operation: 'GetExtendedAgentCard', input: 'query' },
]

export interface RouteMatch {
  readonly route: RestRoute
  /** The decoded parameters of the path. */
  readonly pathParams: Readonly<Record<string, string>>
}

const compiledRoutes = restRoutes.map(route => ({ route, pattern: compilePath(route.path) }))

/**
 * Finds the operation that a request is for. `path` is the part after the endpoint, still percent-encoded. It may begin with the
 * tenant as an additional segment (A2A §8.3).
 * @throws A2aRejection `notFound`; MethodNotAllowed if the path accepts other methods
 */
export function findRestRoute(method: string, path: string): RouteMatch {
  const pathMatches = matchPath(path)
  const matches = pathMatches.length > 0 ? pathMatches : matchTenantPath(path)
  if (matches.length === 0) throw new A2aRejection('notFound', 'Cannot take request: there is no such path')
  const match = matches.find(({ route }) => route.methods.includes(method))
  if (!match) throw new MethodNotAllowed(matches.flatMap(({ route }) => route.methods))
  return match
}

function matchPath(path: string, tenant: Readonly<Record<string, string>> = {}): readonly RouteMatch[] {
  return compiledRoutes.flatMap(({ route, pattern }) => {
    const match = pattern.exec(path)
    return match ? [{ route, pathParams: { ...tenant, ...decodeParams(match.groups ?? {}) } }] : []
  })
}

function matchTenantPath(path: string): readonly RouteMatch[] {
  const [, tenant = '', subpath = ''] = /^\/([^/]+)(\/.*)$/.exec(path) ?? []
  return subpath ? matchPath(subpath, { tenant: decodeSegment(tenant) }) : []
}

/** Compiles a path to a pattern. An action (`:cancel`) is not part of an id. */
function compilePath(path: string): RegExp {
  const source = path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+?)')
  const isAction = /\}:\w+$/.test(path)
  return new RegExp(`^${source}${isAction || !path.endsWith('}') ? '' : '(?<!:cancel|:subscribe)'}$`)
}

function decodeParams(groups: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeSegment(value)]))
}

/** Decodes a segment of a path. A segment with invalid encoding stays unchanged, because no id equals it. */
function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
