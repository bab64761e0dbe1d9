// Looks up what the events of a request refer to: people, earlier messages, and posts of our agents.
import { Rejection } from '@postern/message'
import type { AgentDirectory, AuthoredMessage, Store } from '@postern/pipeline'
import type { PlatformConfig } from './config.ts'
import type { OpenedPlatform, PlatformEvent } from './platform.ts'
import type { PostOwner, Posts } from './posts.ts'
import type { ProvenRequest } from './verify.ts'

/** An event with everything here that it refers to. */
export interface ResolvedEvent {
  readonly event: PlatformEvent
  /** The agent that a message is for; undefined for everything else. */
  readonly agent: string | undefined
  /** The stored messages that an edit or a deletion concerns, by the same author. */
  readonly earlierMessages: readonly AuthoredMessage[]
  /** The answer that a reaction concerns. */
  readonly reactedTo: PostOwner | undefined
}

export interface ResolvedRequest {
  readonly proven: ProvenRequest
  readonly events: readonly ResolvedEvent[]
}

interface ResolveDeps {
  /** The name of the platform. */
  readonly via: string
  readonly opened: Pick<OpenedPlatform, 'readEvent'>
  readonly config: PlatformConfig
  readonly agents: Pick<AgentDirectory, 'defaultAgent' | 'find'>
  readonly store: Pick<Store, 'findAuthored'>
  readonly posts: Pick<Posts, 'findOwner'>
}

/** Resolves the events of a request. @throws Rejection `no_recipient`, Unavailable */
export async function resolveRequest(proven: ProvenRequest, deps: ResolveDeps): Promise<ResolvedRequest> {
  const readEvents = await Promise.all(proven.events.map(heard => deps.opened.readEvent(heard, proven.document)))
  const events = readEvents.filter(event => event !== undefined)
  return { proven, events: await Promise.all(events.map(event => resolveEvent(event, deps))) }
}

async function resolveEvent(event: PlatformEvent, deps: ResolveDeps): Promise<ResolvedEvent> {
  const { kind, object, person, location } = event
  const isForAgent = kind === 'message' && event.isForAgent
  const isRevision = kind === 'edit' || kind === 'delete'
  return {
    event,
    agent: isForAgent ? chooseAgent(location, deps) : undefined,
    earlierMessages: isRevision ? await deps.store.findAuthored(deps.via, { author: person.subject, object }) : [],
    reactedTo: kind === 'reaction' ? await deps.posts.findOwner(object) : undefined,
  }
}

/** Returns the agent for a location. A direct conversation, and a channel that no agent has, belong to the default agent. */
function chooseAgent(
  { channel, isDirect }: PlatformEvent['location'],
  { config, agents }: Pick<ResolveDeps, 'config' | 'agents'>,
): string {
  const owner = Object.entries(config.agents).find(([, { channels }]) => !isDirect && channels.includes(channel))
  const name = owner?.[0] ?? config.default_agent ?? agents.defaultAgent
  const agent = name === undefined ? undefined : agents.find(name)
  if (!agent) throw new Rejection('no_recipient', 'Cannot take message: no agent answers here')
  return agent.name
}
