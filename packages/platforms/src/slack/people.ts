// Finds out who a Slack user is: a member, a guest, somebody of another workspace, or a program.
import type { System } from '@postern/message'
import { isoTime } from '@postern/message'
import type { PlatformPerson } from '../platform.ts'

/** A user of `users.info`, as far as the gateway reads it. */
export interface SlackUser {
  readonly team_id?: string
  readonly name?: string
  readonly real_name?: string
  readonly is_bot?: boolean
  readonly is_restricted?: boolean
  readonly is_ultra_restricted?: boolean
  readonly is_stranger?: boolean
  readonly tz?: string
  readonly locale?: string
  readonly enterprise_user?: { readonly enterprise_id?: string }
  readonly profile?: {
    readonly display_name?: string
    readonly real_name?: string
    readonly email?: string
    readonly image_192?: string
  }
}

/** The workspace in which the bot is installed. */
export interface SlackHome {
  readonly team: string
  /** The organization of that workspace. */
  readonly enterprise?: string | undefined
}

/** The writer that an event names, in the workspace of the bot. */
export interface SlackWriter extends SlackHome {
  /** The id of the user, or of the bot if no user belongs to it. */
  readonly id: string
  /** True if only a bot is named, which `users.info` does not know. */
  readonly isUnlistedBot: boolean
  /** True if a program wrote it, perhaps in the name of a person who has given it a token. */
  readonly isProgram?: boolean
  /** The workspace of the writer according to the event. */
  readonly writerTeam?: string | undefined
}

interface PeopleDeps {
  readonly system: Pick<System, 'now'>
  /** Reads a user from Slack. @throws Unavailable */
  readUser(id: string): Promise<SlackUser>
}

/** The time for which the answer about a user counts, ms. A guest who becomes a member waits no longer than this. */
const memoryMs = 10 * 60_000
const maxUsers = 5_000

/**
 * Creates the finder of people. It asks Slack, because the event names nobody as a guest. If Slack does not tell, the event has to come again: a guest
 * must not pass as a member.
 */
export function createPeople({
  system: { now },
  readUser,
}: PeopleDeps): (writer: SlackWriter) => Promise<PlatformPerson> {
  const users = new Map<string, { readonly user: Promise<SlackUser>; readonly endsAt: number }>()

  function findUser(id: string): Promise<SlackUser> {
    const knownUser = users.get(id)
    if (knownUser && knownUser.endsAt > now()) return knownUser.user
    const user = readUser(id)
    user.catch(() => users.delete(id))
    const [oldest] = users.keys()
    if (users.size >= maxUsers && oldest !== undefined) users.delete(oldest)
    users.set(id, { user, endsAt: now() + memoryMs })
    return user
  }

  return async writer => {
    const user = writer.isUnlistedBot ? { is_bot: true } : await findUser(writer.id)
    return describePerson(writer, user, now())
  }
}

function describePerson(writer: SlackWriter, user: SlackUser, readAt: number): PlatformPerson {
  const team = user.team_id ?? writer.writerTeam ?? writer.team
  const subject = `slack:${team}/${writer.id}`
  const { profile = {} } = user
  const displayName = profile.display_name || profile.real_name || user.real_name || user.name
  return {
    id: writer.id,
    subject,
    address: `@${writer.id}@${team}.slack`.toLowerCase(),
    assurance: judge(writer, user, team),
    profile: {
      ...(displayName && { display_name: displayName }),
      ...(user.name && { username: user.name }),
      ...(profile.image_192 && { avatar: { url: profile.image_192 } }),
      ...(user.locale && { locale: user.locale }),
      ...(user.tz && { timezone: user.tz }),
      ...(profile.email && { email: profile.email }),
      provider: 'slack',
      provider_subject: subject,
      fetched_at: isoTime(readAt),
    },
  }
}

/** A program is a bot wherever it comes from, and in whose name it writes. Workspaces of one organization are not external to each other. */
function judge(writer: SlackWriter, user: SlackUser, team: string): PlatformPerson['assurance'] {
  if (user.is_bot || writer.isProgram) return 'bot'
  const isSameOrganization =
    writer.enterprise !== undefined && user.enterprise_user?.enterprise_id === writer.enterprise
  if (user.is_stranger || (team !== writer.team && !isSameOrganization)) return 'external'
  return user.is_restricted || user.is_ultra_restricted ? 'guest' : 'member'
}
