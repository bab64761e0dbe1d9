import type { Json } from '../format/notations.ts'
import type { Page } from './records/page.ts'
import type {
  Forgetting,
  Forgotten,
  LinkAsked,
  LinkConfirmation,
  LinkConfirmed,
  LinkRequest,
  OwnThread,
  OwnThreadPage,
  OwnThreads,
  OwnThreadsRequest,
  Person,
  PersonAddress,
  PersonHistoryRequest,
  PersonIdentity,
  PersonLink,
} from './records/people.ts'
import type { Entry } from './records/transcript.ts'

/** Conversations as their owner sees them: the owner's words and the answers to them, never the words of others. */
export interface OwnThreadStore {
  listOwnThreads(request: OwnThreadsRequest): Promise<OwnThreadPage>
  /** Undefined when it belongs to another owner. */
  findOwnThread(whose: OwnThreads, thread: number): Promise<OwnThread | undefined>
  /** The target of the owner's last message in it by its own channel. */
  readLastTarget(whose: OwnThreads, thread: number): Promise<Json | undefined>
}

/** The addresses of one person, by what was proven to one agent. */
export interface PeopleStore extends OwnThreadStore {
  /** The person an address belongs to; undefined while it is not linked, or when another `subject` has it now. */
  findPerson(agent: string, identity: PersonIdentity): Promise<Person | undefined>
  /** Keeps the digest of a code that is about to be sent. */
  requestLink(request: LinkRequest): Promise<LinkAsked>
  /** Uses a code up. Every wrong one counts against all that are open for this address. */
  confirmLink(confirmation: LinkConfirmation): Promise<LinkConfirmed>
  /**
   * Removes every link of `other` with the person of `identity`; their shared state is deleted. False: there was none.
   */
  unlink(agent: string, identity: PersonIdentity, other: PersonAddress): Promise<boolean>
  /** Ends every link of a principal, with every agent; how many there were. */
  unlinkAll(subject: string): Promise<number>
  listLinks(page: Page & { readonly agent?: string | undefined }): Promise<readonly PersonLink[]>
  /** As `readHistory`, over all conversations of these scopes in the order of time; each entry says by which channel. */
  readPersonHistory(request: PersonHistoryRequest): Promise<readonly Entry[]>
  readPersonState(agent: string, person: string): Promise<Json | undefined>
  /** Who may join a thread. */
  readThreadScope(thread: number): Promise<string>
  /**
   * Removes all there is of these addresses and of those linked with them: messages, what was answered, states, raw bytes, attachments nobody
   * else needs, links, codes, relations (but for blocks and suppressed places, which protect them). Totals go on being right.
   */
  forgetPerson(forgetting: Forgetting): Promise<Forgotten>
}
