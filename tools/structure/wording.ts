// Finds faults in test titles, commit subjects and identifiers.
import { countWords, findPassive } from '../docs/prose/sentences.ts'
import { dropQuotations } from '../docs/prose/words.ts'
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

const maxWords = 25

/** Matches the title in `test('…', …)`, in `test.skip('…', …)` and, after the rows, in `test.each(rows)('…', …)`. */
const titlePattern =
  /(?:\b(?:test|it|describe)(?:\.\w+)?|(?<=\n\s*\]|\b(?:test|it|describe)\.each\([^\n]*)\))\(\s*(?:'((?:\\.|[^'\\\n])+)'|"((?:\\.|[^"\\\n])+)"|`((?:\\.|[^`\\])+)`)\s*,/g

/** Finds titles that are too long for one reading, or that do not say who acts. */
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
  const titleWords = title.split(' ')
  return titleWords.length > 6 ? `${titleWords.slice(0, 6).join(' ')} …` : title
}

const maxLength = 72
const form = /^(feat|fix|refactor|perf|test|docs|build|ci|chore|style|revert)(\([\w, -]+\))?!?: \S/

/** Finds subjects of commits that are too long, or not of the form `type(scope): what changed`. Merges may have other subjects. */
export function findSubjectFaults(subjects: readonly string[]): readonly string[] {
  return subjects
    .filter(subject => !subject.startsWith('Merge '))
    .flatMap(subject => {
      if (subject.length > maxLength) return [`"${subject}" has ${subject.length} characters; at most ${maxLength}`]
      return form.test(subject) ? [] : [`"${subject}" is not of the form "type(scope): what changed"`]
    })
}

/** Words that this project once used, each with the field's own term. */
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

/** Finds identifiers with a word outside the vocabulary. Strings and comments may contain any words, because they may quote. */
export function findPrivateWords(files: readonly SourceFile[]): readonly string[] {
  return files.filter(isChecked).flatMap(({ path, text }) => {
    const names = new Set(text.replace(codeOnly, '').match(identifier))
    return [...names].flatMap(name => {
      const word = wordsOf(name).find(namePart => Object.hasOwn(wordPairs, namePart))
      return word === undefined || isForeign(name, path) ? [] : [`${path}: ${name} (say ${wordPairs[word]})`]
    })
  })
}

/** Returns false for files of this folder, which contain these words themselves. */
function isChecked({ path }: SourceFile): boolean {
  return !path.startsWith('tools/structure/')
}

/**
 * Returns true for names that others chose, such as Fedify's option, ActivityPub's double knock and MCP's hint. Agents of tests may be
 * called `desk`, and the store may say `place` in one folder.
 */
function isForeign(name: string, path: string): boolean {
  if (/doubleKnock|firstKnock|openWorldHint/i.test(name) || (name === 'desk' && isTestFile(path))) return true
  return /^place$/i.test(name) && /^packages\/store\/src\/postgres\//.test(path)
}

/** Matches the declaration of a variable whose whole name is such a participle. */
const vagueName = /\b(?:const|let)\s+(found|known|named|whole)\s*[:=]/g

/** Finds variables whose name says only that something was found or is known, but not what. */
export function findVagueNames(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(isChecked)
    .flatMap(({ path, text }) =>
      [...text.replace(codeOnly, '').matchAll(vagueName)].map(([, name]) => `${path}: ${name} (say what it holds)`),
    )
}

function wordsOf(name: string): readonly string[] {
  return (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map(
    word => (word[0] ?? '').toUpperCase() + word.slice(1).replace(/s$/, ''),
  )
}
