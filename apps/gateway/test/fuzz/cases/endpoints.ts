// Lists the endpoints that the fuzzer attacks.
import type { TargetAddresses } from '../target/open.ts'
import type { GrpcSeed, HttpSeed, Seeds } from './seeds.ts'

export type Endpoint = HttpEndpoint | GrpcEndpoint | MailEndpoint

export interface MailEndpoint {
  readonly kind: 'mail'
  readonly name: 'SMTP'
  /** The command with which a client greets the server. */
  readonly greeting: 'EHLO' | 'LHLO'
}

export interface HttpEndpoint {
  readonly kind: 'http'
  readonly name: string
  readonly method: string
  /** The path in the router's notation. */
  readonly path: string
  readonly seeds: readonly HttpSeed[]
}

export interface GrpcEndpoint {
  readonly kind: 'grpc'
  readonly name: string
  readonly seeds: readonly GrpcSeed[]
}

/** Lists every route of the server itself, so that new routes are attacked from their first day, and all other endpoints. */
export function listEndpoints({ routes, smtp, isLmtp, grpc }: TargetAddresses, seeds: Seeds): readonly Endpoint[] {
  const routesByName = new Map(routes.map(route => [`${route.method} ${route.path}`, route]))
  const http = [...routesByName].map(
    ([name, { method, path }]): HttpEndpoint => ({
      kind: 'http',
      name,
      method,
      path,
      seeds: seeds.http.filter(seed => matchesRoute(seed, method, path)),
    }),
  )
  const seedsByMethod = grpc ? Map.groupBy(seeds.grpc, ({ method }) => `/lf.a2a.v1.A2AService/${method}`) : []
  const rpc = [...seedsByMethod].map(
    ([name, methodSeeds]): GrpcEndpoint => ({ kind: 'grpc', name, seeds: methodSeeds }),
  )
  const mail: MailEndpoint = { kind: 'mail', name: 'SMTP', greeting: isLmtp ? 'LHLO' : 'EHLO' }
  return [...http, ...rpc, ...(smtp ? [mail] : [])]
}

function matchesRoute(seed: HttpSeed, method: string, path: string): boolean {
  if (method !== 'ALL' && method !== seed.method) return false
  if (path === '*' || path === '/*') return false
  const parts = path.split('/').map(part => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : part.replace(/[^\w-]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('/')}$`).test(seed.path.split('?')[0] ?? '')
}
