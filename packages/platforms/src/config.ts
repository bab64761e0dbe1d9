// Defines the settings of the chat platforms.
import { isLoopbackHost } from '@postern/http'
import { ConfigError } from '@postern/message'
import { z } from 'zod'

/** The members that the settings of every platform have. */
const commonShape = {
  /** The agent for direct messages, slash commands and all channels that `agents` does not name. Default: the gateway's `default_agent`. */
  default_agent: z.string().min(1).optional(),
  /** The agents that answer in channels of their own, by their names. */
  agents: z
    .record(
      z.string(),
      z.strictObject({
        /** The ids of the channels in which the agent answers. */
        channels: z.array(z.string().min(1)).min(1),
      }),
    )
    .default({}),
  /** The address of the platform's API, if it is not the platform's own. An address of this machine needs dev mode. */
  api_url: z.url({ protocol: /^https?$/, error: 'must be an https URL' }).optional(),
}

/** The settings of one platform as the steps read them, regardless of the platform. */
export interface PlatformConfig {
  readonly default_agent?: string | undefined
  readonly agents: Readonly<Record<string, { readonly channels: readonly string[] }>>
  readonly api_url?: string | undefined
}

const slackSchema = z
  .strictObject({
    /** The token of the app's bot, `xoxb-…`. */
    bot_token: z.string().min(1),
    /** The secret with which Slack signs its requests. */
    signing_secret: z.string().min(16, 'must have 16 or more characters'),
    ...commonShape,
  })
  .superRefine(refuseSharedChannels)

export type SlackConfig = z.output<typeof slackSchema>

export const platformsConfigSchema = z
  .strictObject({
    /** Slack. It needs the package `@chat-adapter/slack` beside the configuration file. */
    slack: slackSchema.optional(),
  })
  .prefault({})

/** Refuses a channel that two agents name, because only one of them could answer there. */
function refuseSharedChannels({ agents }: Pick<PlatformConfig, 'agents'>, context: z.RefinementCtx): void {
  const owners = new Map<string, string>()
  for (const [agent, { channels }] of Object.entries(agents))
    for (const channel of channels) {
      const owner = owners.get(channel) ?? agent
      owners.set(channel, owner)
      if (owner === agent) continue
      const message = `names the channel ${channel}, in which "${owner}" answers`
      context.addIssue({ code: 'custom', path: ['agents', agent, 'channels'], message })
    }
}

/** Lists the settings of a platform that are unsafe outside of dev mode. */
export function findUnsafePlatform(name: string, { api_url }: Pick<PlatformConfig, 'api_url'>): readonly ConfigError[] {
  if (api_url === undefined || !isLoopbackHost(new URL(api_url).hostname)) return []
  const problem = 'is an address of this machine, which is for development only'
  return [new ConfigError(`platforms.${name}.api_url`, problem, 'Remove it, or set "dev": true.')]
}
