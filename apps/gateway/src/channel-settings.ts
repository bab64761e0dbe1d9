// The settings of each channel in a configuration file, as types for its author.
import type { a2aConfigSchema } from '@postern/a2a'
import type { activityPubConfigSchema } from '@postern/activitypub'
import type { emailConfigSchema } from '@postern/email'
import type { platformsConfigSchema } from '@postern/platforms'
import type { webConfigSchema } from '@postern/web'
import type { z } from 'zod'

/** The members of channels, before defaults. */
export interface ChannelSettings {
  /** The fediverse. */
  readonly activitypub?: z.input<typeof activityPubConfigSchema>
  /** Calls by other agents. */
  readonly a2a?: z.input<typeof a2aConfigSchema>
  /** Mail in and out. */
  readonly email?: z.input<typeof emailConfigSchema>
  /** The chat for browsers and apps. */
  readonly web?: z.input<typeof webConfigSchema>
  /** Chat platforms. */
  readonly platforms?: z.input<typeof platformsConfigSchema>
}
