// Declares the storage of people with their linked addresses and their conversations.
import type { Json } from '@postern/message'
import type { Page } from '../records/operator/page.ts'
import type {
  ForgetPersonRequest,
  ForgetPersonResult,
  PersonMessage,
  PersonMessagesRequest,
} from '../records/people/forgetting.ts'
import type {
  OwnThread,
  OwnThreadFilter,
  OwnThreadPage,
  OwnThreadsRequest,
  PersonHistoryRequest,
} from '../records/people/own-threads.ts'
import type { Person, PersonIdentity } from '../records/people/person.ts'
import type {
  LinkConfirmation,
  LinkConfirmationResult,
  LinkRequest,
  LinkRequestResult,
  PersonLink,
  UnlinkRequest,
} from '../records/people/person-link.ts'
import type { Entry } from '../records/transcript.ts'

/** Conversations as their owner sees them: the owner's words and the answers to them, never the words of others. */
export interface OwnThreadStore {
  listOwnThreads(request: OwnThreadsRequest): Promise<OwnThreadPage>
  /** Finds a thread of an owner; undefined if it belongs to another owner, or if the owner has said nothing in it. */
  findOwnThread(filter: OwnThreadFilter, thread: number): Promise<OwnThread | undefined>
  /** Reads the target of the owner's last message in a thread over the thread's own channel. */
  readLastTarget(filter: OwnThreadFilter, thread: number): Promise<Json | undefined>
}

/** The store of people: the linked addresses of each person, and the proofs that one agent got for them. */
export interface PeopleStore extends OwnThreadStore {
  /**
   * Finds the person to whom an address belongs; undefined while it is not linked, or if it belongs to another `subject`. A linked address without a
   * known subject belongs to this one from now on.
   */
  findPerson(agent: string, identity: PersonIdentity): Promise<Person | undefined>
  /** Stores the digest of a code that is about to be sent. */
  requestLink(request: LinkRequest): Promise<LinkRequestResult>
  /** Uses up a code. Each wrong code counts against all codes that are open for this address. */
  confirmLink(confirmation: LinkConfirmation): Promise<LinkConfirmationResult>
  /**
   * Removes every link of `other`, and deletes the person's shared state. Returns false if `other` does not belong to the person of `identity`.
   */
  unlink(unlinking: UnlinkRequest): Promise<boolean>
  /** Ends every link of a principal with every agent. Returns the number of links. */
  unlinkAll(subject: string): Promise<number>
  listLinks(page: Page & { readonly agent?: string | undefined }): Promise<readonly PersonLink[]>
  /** Reads the same as `readHistory`, but over all conversations of these scopes in chronological order; each entry names its channel. */
  readPersonHistory(request: PersonHistoryRequest): Promise<readonly Entry[]>
  readPersonState(agent: string, person: string): Promise<Json | undefined>
  /** Reads the scope of a thread, which decides who may join it. */
  readThreadScope(thread: number): Promise<string>
  /** Finds everything that was said from these addresses, and the linked persons who have them, for each agent. It reads all messages. */
  findPersonMessages(request: PersonMessagesRequest): Promise<{
    readonly persons: readonly (Person & { readonly agent: string })[]
    readonly messages: readonly PersonMessage[]
  }>
  /**
   * Deletes all data about these addresses and the addresses linked with them: messages, answers, states, raw bytes, attachments that nobody else
   * needs, links, codes and relations. Blocks and suppressed addresses stay without the name, because they protect the person. Totals stay correct.
   */
  forgetPerson(forgetting: ForgetPersonRequest): Promise<ForgetPersonResult>
}
