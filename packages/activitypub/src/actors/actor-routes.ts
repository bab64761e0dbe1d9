// Serves the documents of our own actors.

import { Rejection } from '@postern/message'
import type { AgentDirectory, AgentProfile } from '@postern/pipeline'
import type { Context, Hono, Next } from 'hono'
import type { ActivityPubConfig } from '../config.ts'
import { agentIris, instanceActorIri } from '../format/own-iris.ts'
import type { KeyRing } from '../keys/key-generations.ts'
import { renderEmptyCollection } from './collections.ts'
import { answerActivity, asksForActivity, chooseAudience } from './negotiation.ts'
import type { ReadAccess } from './read-access.ts'
import { renderActor, renderInstanceActor } from './render-actor.ts'

/** The paths of an agent after `/agents/<name>`, besides its inbox. Other protocols add their own routes there. */
const agentPathSuffixes = ['', '/outbox', '/followers', '/following', '/featured', '/feed.atom', '/posts/*']

type UnknownAgentHandler = (context: Context, next: Next, path: string) => Promise<Response | undefined>

/** Passes requests about an unknown or removed agent to `respond` before any other route. */
export function addUnknownAgentRoutes(
  app: Hono,
  agents: Pick<AgentDirectory, 'find'>,
  respond: UnknownAgentHandler,
): void {
  for (const pathSuffix of agentPathSuffixes) {
    app.use(`/agents/:agent${pathSuffix}`, async (context, next) =>
      agents.find(context.req.param('agent') ?? '') ? next() : respond(context, next, pathSuffix),
    )
  }
}

interface ActorRouteDeps {
  readonly agents: AgentDirectory
  readonly keys: Pick<KeyRing, 'find'>
  readonly readAccess: Pick<ReadAccess, 'requiresSignature' | 'admit'>
  readonly follows: ActivityPubConfig['follows']
}

export function addActorRoutes(app: Hono, { agents, keys, readAccess, follows }: ActorRouteDeps): void {
  const { origin, domain } = agents
  app.get('/actor', async context =>
    answerActivity(context, renderInstanceActor(domain, await keys.find(instanceActorIri(origin)), origin)),
  )
  // The instance actor only fetches and never posts.
  app.get('/actor/outbox', context =>
    answerActivity(context, renderEmptyCollection(`${instanceActorIri(origin)}/outbox`)),
  )
  app.get('/agents/:agent', async function serveActor(context, next) {
    // People get the gateway's page from the same address.
    if (!asksForActivity(context.req.header('accept'))) {
      await next()
      context.header('vary', 'Accept', { append: true })
      return undefined
    }
    const agent = requireAgent(agents, context.req.param('agent'))
    if (readAccess.requiresSignature) await readAccess.admit(context.req.raw)
    const document = renderActor(agent, await keys.find(agentIris(origin, agent.name).actor), { origin, follows })
    return answerActivity(context, document, { audience: chooseAudience(readAccess) })
  })
}

export function requireAgent(agents: AgentDirectory, name: string): AgentProfile {
  const agent = agents.find(name)
  if (!agent) throw new Rejection('no_recipient', 'Cannot find actor: there is no such agent')
  return agent
}
