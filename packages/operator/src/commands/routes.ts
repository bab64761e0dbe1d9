// Mounts the operations of the operator's API.
import type {
  AgentDirectory,
  Channel,
  LookupStore,
  OperatorStore,
  RelationStore,
  RequirementStore,
  SecretStore,
  TraceStore,
} from '@postern/pipeline'
import type { Hono, MiddlewareHandler } from 'hono'
import { createDocumentRoute } from '../api/openapi.ts'
import type { OperatorRoute } from '../api/operation.ts'
import type { OperationRouterOptions } from '../api/router.ts'
import { createOperationRouter } from '../api/router.ts'
import type { ResolveSystem } from '../resolve/view/peer-fetch.ts'
import type { ActionRouteDeps } from './actions/route.ts'
import { createAgentActionRoute } from './actions/route.ts'
import { createApprovalRoutes } from './approvals/route.ts'
import { createFollowerRoutes } from './followers/route.ts'
import { createKeyRoutes } from './keys/route.ts'
import { withKnownNames } from './known-names.ts'
import type { RunningAgents } from './messages/route.ts'
import { createMessageRoutes } from './messages/route.ts'
import type { PeopleRouteDeps } from './people/route.ts'
import { createPeopleRoutes } from './people/route.ts'
import type { RequirementRouteDeps } from './requirements/route.ts'
import { createRequirementRoutes } from './requirements/route.ts'
import { createResolveRoute } from './resolve/route.ts'
import { createSuppressionRoutes } from './suppressions/route.ts'

export interface OperatorOptions {
  readonly store: OperatorStore &
    RequirementStore &
    Pick<LookupStore, 'readHistory'> &
    Pick<RelationStore, 'listRelations'> &
    Pick<TraceStore, 'findDelivery'> &
    Pick<SecretStore, 'listSecrets' | 'rotateSecrets'> &
    PeopleRouteDeps['store']
  readonly agents: RunningAgents & Pick<AgentDirectory, 'find' | 'list' | 'domain'>
  readonly channels: readonly Channel[]
  /** The names of all channels that the program has, open or not. */
  readonly channelNames: readonly string[]
  /** The version of the program. */
  readonly version: string
  /** Admits only the operator. */
  readonly operatorOnly: MiddlewareHandler
  readonly mask?: OperationRouterOptions['mask']
  readonly acting: ActionRouteDeps['acting']
  readonly requirements: RequirementRouteDeps['requirements']
  openResolveSystem(): ResolveSystem
  /** Further operations, such as those of dev mode. */
  readonly operations?: readonly OperatorRoute[]
}

export function createOperatorRoutes(options: OperatorOptions): Hono {
  const routes = [
    ...createMessageRoutes(options),
    ...createRequirementRoutes({ ...options, system: options.acting.system }),
    ...createApprovalRoutes(options.store),
    ...createFollowerRoutes(options),
    ...createSuppressionRoutes(options),
    ...createPeopleRoutes(options),
    createAgentActionRoute(options),
    ...createKeyRoutes(options),
    createResolveRoute(options.openResolveSystem),
    ...(options.operations ?? []),
  ]
  const checkedRoutes = routes.map(route => withKnownNames(route, options))
  return createOperationRouter([...checkedRoutes, createDocumentRoute(routes, options.version)], {
    authenticate: options.operatorOnly,
    mask: options.mask,
  })
}
