// Lists the chat platforms as channels of the gateway, each with its part of the configuration.
import type { ChannelModule } from '@postern/http'
import type { SlackConfig } from './config.ts'
import { findUnsafePlatform, platformsConfigSchema } from './config.ts'
import type { PlatformContext } from './open-platform.ts'
import { describePlatform } from './speaker.ts'

export { platformsConfigSchema } from './config.ts'

const slackDescriptor = describePlatform({
  name: 'slack',
  evidenceMethod: 'slack-workspace-member',
  // Slack repeats an event three times within an hour, and some for a day.
  repeatsForMs: 24 * 3_600_000,
})

/** Slack by its Events API. The channel is closed unless the configuration has its member. */
export const slack: ChannelModule<SlackConfig | undefined, 'slack', PlatformContext> & {
  readonly configSection: 'platforms'
} = {
  descriptor: slackDescriptor,
  configSection: 'platforms',
  configSchema: platformsConfigSchema.unwrap().shape.slack,
  findUnsafe: config => (config ? findUnsafePlatform('slack', config) : []),
  async open(config, context) {
    if (!config) return undefined
    const [{ openPlatform }, { slackPlatform: platform }] = await Promise.all([
      import('./open-platform.ts'),
      import('./slack/slack.ts'),
    ])
    return openPlatform({ platform, descriptor: slackDescriptor, config }, context)
  },
}
