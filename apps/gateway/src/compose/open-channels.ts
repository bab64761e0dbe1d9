import type { ByteBudget } from '@postern/core'
import { openIdentity } from '@postern/identity'
import type { Hono } from 'hono'
import { createTokenCheck } from '../commands/operator-token.ts'
import { findScopes } from '../config/channel-slices.ts'
import { openLocalFetch } from '../platform/local-fetch.ts'
import type { GatewayPlatform } from '../platform/platform.ts'
import { noteLookups } from '../replay/lookups.ts'
import type { Foundation } from './foundation.ts'

interface ChannelOpening {
  readonly operatorToken: string
  /** What all bodies together may take. */
  readonly bodies: ByteBudget
  /** The program's own routes, as soon as they are there. */
  readonly app: Pick<Hono, 'fetch'>
}

/**
 * Opens each channel of the list with what it may need. @returns the platform that channels and agents go out by: what leaves for one of our own
 * agents stays in the gateway, and passes its endpoints like everything else
 */
export async function openChannels(
  foundation: Foundation,
  { operatorToken, bodies, app }: ChannelOpening,
): Promise<GatewayPlatform> {
  const { config, slices, channels, store, decisions, agents, attachments, requirements, operators } = foundation
  const { loop } = config.limits
  const origins = [config.origin, `https://${foundation.domain}`]
  const platform = { ...foundation.platform, ...openLocalFetch(foundation.platform, { app, origins, channels }) }
  const context = {
    channels,
    bodies,
    platform: noteLookups(platform, store),
    store,
    admission: { rules: foundation.admissionRules, store },
    decisions,
    identity: openIdentity(config.identity, { platform: foundation.platform, store }),
    agents,
    fileAddress: attachments.fileAddress,
    showRequirement: requirements.showRequirement,
    requirementClaims: requirements.requirementClaims,
    maxHops: loop.max_hops,
    maxMentions: loop.max_mentions,
    transcript: store.transcript,
    objects: store.objects,
    records: store.records,
    forgetChat: store.forgetChat,
    isLinking: (name: string) => agents.findRunning(name)?.people?.link === true,
    approvals: requirements.approvals,
    questions: operators,
    isOperatorToken: createTokenCheck(operatorToken),
    scopes: findScopes(slices),
  }
  for (const { module, config: own } of slices) channels.push(await module.open(own, context))
  return platform
}
