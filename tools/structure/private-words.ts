import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

/** Words that this project once used for what the field names otherwise, and the field's word. */
const wordPairs: Readonly<Record<string, string>> = {
  Desk: 'Store',
  House: 'Gateway',
  World: 'Platform',
  Demand: 'Requirement',
  Deed: 'OutgoingAction',
  Outpost: 'AgentPublisher',
  Occasion: 'SyntheticMessage',
  Turnstile: 'Semaphore',
  Knock: 'IncomingCall',
  Door: 'endpoint',
  Shelf: 'RecordStore, AttachmentStore',
  Residue: 'LosslessDiff',
  Saying: 'PartialAnswer',
  Telling: 'IntakeDraft',
  Acquaintance: 'SenderHistory, Recipient',
  Sibling: 'LocalAgent',
  Vouching: 'SenderEvidence',
  Silencing: 'PeerBlocking',
  Fate: 'disposition',
  Hall: 'SwarmClients',
  Rooms: 'Deps',
  Mend: 'fix',
}

const identifier = /[A-Za-z_$][\w$]*/g
const codeOnly = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g

/** Identifiers with a word outside the vocabulary; strings and comments may quote anybody. `double knock` is ActivityPub's own word. */
export function findPrivateWords(files: readonly SourceFile[]): readonly string[] {
  return files.filter(isChecked).flatMap(({ path, text }) => {
    const names = new Set(text.replace(codeOnly, '').match(identifier))
    return [...names].flatMap(name => {
      const word = wordsOf(name).find(each => Object.hasOwn(wordPairs, each))
      return word === undefined || isForeign(name, path) ? [] : [`${path}: ${name} (say ${wordPairs[word]})`]
    })
  })
}

/** This list itself names them. */
function isChecked({ path }: SourceFile): boolean {
  return !path.startsWith('tools/structure/')
}

/** Fedify's option and Mastodon's double knock; in tests an agent may be called `desk`. */
function isForeign(name: string, path: string): boolean {
  return /doubleKnock|firstKnock/i.test(name) || (name === 'desk' && isTestFile(path))
}

function wordsOf(name: string): readonly string[] {
  return (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map(
    word => (word[0] ?? '').toUpperCase() + word.slice(1).replace(/s$/, ''),
  )
}
