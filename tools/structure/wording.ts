// Finds faults in test titles, commit subjects and identifiers.
import { countWords, findPassive } from '../docs/prose/sentences.ts'
import { dropQuotations } from '../docs/prose/words.ts'
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

const maxWords = 25

/** The first argument of `test('…', …)`, of `test.skip('…', …)` and, behind their rows, of `test.each(rows)('…', …)`. */
const titlePattern =
  /(?:\b(?:test|it|describe)(?:\.\w+)?|(?<=\n\s*\]|\b(?:test|it|describe)\.each\([^\n]*)\))\(\s*(?:'((?:\\.|[^'\\\n])+)'|"((?:\\.|[^"\\\n])+)"|`((?:\\.|[^`\\])+)`)\s*,/g

/** Titles that are too long for one reading, or do not say who acts. */
export function findTitleFaults(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => isTestFile(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(titlePattern)].flatMap(match => {
        const title = (match[1] ?? match[2] ?? match[3] ?? '').replace(/\$\{[^}]*\}/g, 'X')
        const line = text.slice(0, match.index).split('\n').length
        return judgeTitle(title).map(fault => `${path}:${line} "${shorten(title)}": ${fault}`)
      }),
    )
}

function judgeTitle(title: string): readonly string[] {
  const count = countWords(title)
  const passive = findPassive(dropQuotations(title))
  return [
    ...(count > maxWords ? [`${count} words, at most ${maxWords}`] : []),
    ...(passive === undefined ? [] : [`say who acts, instead of "${passive}"`]),
  ]
}

function shorten(title: string): string {
  const words = title.split(' ')
  return words.length > 6 ? `${words.slice(0, 6).join(' ')} …` : title
}

const maxLength = 72
const form = /^(feat|fix|refactor|perf|test|docs|build|ci|chore|style|revert)(\([\w, -]+\))?!?: \S/

/** Subjects of commits that are too long, or not `type(scope): what changed`. Merges have subjects of their own. */
export function findSubjectFaults(subjects: readonly string[]): readonly string[] {
  return subjects
    .filter(subject => !subject.startsWith('Merge '))
    .flatMap(subject => {
      if (subject.length > maxLength) return [`"${subject}" has ${subject.length} characters; at most ${maxLength}`]
      return form.test(subject) ? [] : [`"${subject}" is not of the form "type(scope): what changed"`]
    })
}

/** Words that this project once used for what the field names otherwise, and the field's word. */
const wordPairs: Readonly<Record<string, string>> = {
  Desk: 'Store',
  House: 'Gateway',
  World: 'System',
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
  Place: 'Position, Location, Number, or what it is',
  Placed: 'the concrete word',
  Taker: 'Consumer',
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

/** Returns false for this list itself, which names them. */
function isChecked({ path }: SourceFile): boolean {
  return !path.startsWith('tools/structure/')
}

/** Fedify's option, Mastodon's double knock and MCP's hint; in tests an agent may be called `desk`; the store's lockstep keeps its words. */
function isForeign(name: string, path: string): boolean {
  if (/doubleKnock|firstKnock|openWorldHint/i.test(name) || (name === 'desk' && isTestFile(path))) return true
  return /^place$/i.test(name) && /^packages\/store\/src\/(?:together|postgres)\//.test(path)
}

/** Matches the declaration of a variable whose whole name is a participle. */
const vagueName = /\b(?:const|let)\s+(found|known|named|whole)\s*[:=]/g

/** Finds variables whose name tells that something was found or is known, but not what. */
export function findVagueNames(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(file => isChecked(file) && !file.path.startsWith('packages/store/src/together/'))
    .flatMap(({ path, text }) =>
      [...text.replace(codeOnly, '').matchAll(vagueName)].map(([, name]) => `${path}: ${name} (say what it holds)`),
    )
}

function wordsOf(name: string): readonly string[] {
  return (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map(
    word => (word[0] ?? '').toUpperCase() + word.slice(1).replace(/s$/, ''),
  )
}
