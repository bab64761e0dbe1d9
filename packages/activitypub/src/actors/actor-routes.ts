// Serves the documents of our own actors.

import { Rejection } from '@postern/message'
import type { AgentDirectory, AgentProfile } from '@postern/pipeline'
import type { Context, Hono, Next } from 'hono'
import type { ActivityPubConfig } from '../config.ts'
import { agentIris, instanceActorIri } from '../format/own-iris.ts'
import type { KeyRing } from '../keys/key-generations.ts'
import { emptyCollection } from './collections.ts'
import { answerActivity, asksForActivity, audienceOf } from './negotiation.ts'
import type { ReadAccess } from './read-access.ts'
import { renderActor, renderInstanceActor } from './render-actor.ts'

/** The paths of an agent. Other protocols add their routes beside them. */
const agentPaths = ['', '/inbox', '/outbox', '/followers', '/following', '/featured', '/feed.atom', '/posts/*']

type AnswerForUnknown = (context: Context, next: Next, path: string) => Promise<Response | undefined>

/** Passes requests about an unknown or removed agent to `answer` before any other route. */
export function addUnknownAgents(app: Hono, agents: Pick<AgentDirectory, 'find'>, answer: AnswerForUnknown): void {
  for (const path of agentPaths) {
    app.use(`/agents/:agent${path}`, async (context, next) =>
      agents.find(context.req.param('agent') ?? '') ? next() : answer(context, next, path),
    )
  }
}

interface ActorRouteDeps {
  readonly agents: AgentDirectory
  readonly keys: Pick<KeyRing, 'find'>
  readonly readAccess: Pick<ReadAccess, 'isSignedOnly' | 'admit'>
  readonly follows: ActivityPubConfig['follows']
}

export function addActors(app: Hono, { agents, keys, readAccess, follows }: ActorRouteDeps): void {
  const { origin, domain } = agents
  app.get('/actor', async context =>
    answerActivity(context, renderInstanceActor(domain, await keys.find(instanceActorIri(origin)), origin)),
  )
  // The instance actor only fetches and never posts.
  app.get('/actor/outbox', context => answerActivity(context, emptyCollection(`${instanceActorIri(origin)}/outbox`)))
  app.get('/agents/:agent', async function serveActor(context, next) {
    // People get the gateway's page from the same address.
    if (!asksForActivity(context.req.header('accept'))) {
      await next()
      context.header('vary', 'Accept', { append: true })
      return undefined
    }
    const agent = requireAgent(agents, context.req.param('agent'))
    if (readAccess.isSignedOnly) await readAccess.admit(context.req.raw)
    const document = renderActor(agent, await keys.find(agentIris(origin, agent.name).actor), { origin, follows })
    return answerActivity(context, document, audienceOf(readAccess))
  })
}

export function requireAgent(agents: AgentDirectory, name: string): AgentProfile {
  const agent = agents.find(name)
  if (!agent) throw new Rejection('no_recipient', 'Cannot find actor: there is no such agent')
  return agent
}
