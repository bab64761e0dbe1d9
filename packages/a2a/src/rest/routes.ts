import { A2aRejection, MethodNotAllowed } from '../format/errors.ts'
import type { OperationName } from '../format/wire.ts'

/** The path of an operation in the HTTP+JSON binding (A2A §11.3). */
interface RestRoute {
  readonly methods: readonly string[]
  /** `{id}` is one segment; its name is the member of the parameters. */
  readonly path: string
  readonly operation: OperationName
  /** The source of the other parameters. `lenient` bodies may be empty or anything else, because older clients send `null` or nothing. */
  readonly input: 'body' | 'lenient' | 'query'
}

const configs = '/tasks/{taskId}/pushNotificationConfigs'

const restRoutes: readonly RestRoute[] = [
  { methods: ['POST'], path: '/message:send', operation: 'SendMessage', input: 'body' },
  { methods: ['POST'], path: '/message:stream', operation: 'SendStreamingMessage', input: 'body' },
  { methods: ['GET'], path: '/tasks', operation: 'ListTasks', input: 'query' },
  { methods: ['GET'], path: '/tasks/{id}', operation: 'GetTask', input: 'query' },
  { methods: ['POST'], path: '/tasks/{id}:cancel', operation: 'CancelTask', input: 'lenient' },
  // The protobuf file says GET; the specification's text says POST.
  { methods: ['GET'], path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask', input: 'query' },
  { methods: ['POST'], path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask', input: 'lenient' },
  { methods: ['POST'], path: configs, operation: 'CreateTaskPushNotificationConfig', input: 'body' },
  { methods: ['GET'], path: configs, operation: 'ListTaskPushNotificationConfigs', input: 'query' },
  { methods: ['GET'], path: `${configs}/{id}`, operation: 'GetTaskPushNotificationConfig', input: 'query' },
  { methods: ['DELETE'], path: `${configs}/{id}`, operation: 'DeleteTaskPushNotificationConfig', input: 'query' },
  { methods: ['GET'], path: '/extendedAgentCard', operation: 'GetExtendedAgentCard', input: 'query' },
]

export interface FoundRoute {
  readonly route: RestRoute
  /** Parameters of the path, decoded. */
  readonly path: Readonly<Record<string, string>>
}

const compiled = restRoutes.map(route => ({ route, pattern: compilePath(route.path) }))

/**
 * Which operation a request is for. `path` is what follows the endpoint, still percent-encoded; every path is also known
 * under one leading segment, the tenant (A2A §8.3).
 * @throws A2aRejection `notFound`; MethodNotAllowed when the path takes other methods
 */
export function findRestRoute(method: string, path: string): FoundRoute {
  const here = matchPath(path)
  const matches = here.length > 0 ? here : matchTenantPath(path)
  if (matches.length === 0) throw new A2aRejection('notFound', 'Cannot take request: there is no such path')
  const found = matches.find(({ route }) => route.methods.includes(method))
  if (!found) throw new MethodNotAllowed(matches.flatMap(({ route }) => route.methods))
  return found
}

function matchPath(path: string, tenant: Readonly<Record<string, string>> = {}): readonly FoundRoute[] {
  return compiled.flatMap(({ route, pattern }) => {
    const match = pattern.exec(path)
    return match ? [{ route, path: { ...tenant, ...decodeAll(match.groups ?? {}) } }] : []
  })
}

function matchTenantPath(path: string): readonly FoundRoute[] {
  const [, tenant = '', rest = ''] = /^\/([^/]+)(\/.*)$/.exec(path) ?? []
  return rest ? matchPath(rest, { tenant: decodeSegment(tenant) }) : []
}

/** An action (`:cancel`) is no part of an id. */
function compilePath(path: string): RegExp {
  const source = path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+?)')
  const isAction = /\}:\w+$/.test(path)
  return new RegExp(`^${source}${isAction || !path.endsWith('}') ? '' : '(?<!:cancel|:subscribe)'}$`)
}

function decodeAll(groups: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeSegment(value)]))
}

/** What is not well encoded stays as it is: it is the id of nothing. */
function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
