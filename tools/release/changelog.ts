// Formats the entries of CHANGELOG.md from commits, and sets versions.
/** A commit, as far as the changelog needs it. */
export interface CommitText {
  readonly subject: string
  readonly body: string
}

interface Change {
  readonly kind: string
  readonly scope: string
  readonly text: string
  readonly isBreaking: boolean
}

/** The headings of a section (keepachangelog.com 1.1.0), each with its types of commits. Other types change nothing for users. */
const heads: readonly (readonly [head: string, kinds: readonly string[]])[] = [
  ['Added', ['feat']],
  ['Changed', ['perf', 'revert']],
  ['Fixed', ['fix']],
]

const form = /^(?<kind>[a-z]+)(?:\((?<scope>[^)]*)\))?(?<mark>!)?: (?<text>.+)$/

/** @returns undefined for a subject that is not `type(scope): what changed` */
export function readChange({ subject, body }: CommitText): Change | undefined {
  const { kind = '', scope = '', mark, text = '' } = form.exec(subject)?.groups ?? {}
  if (kind === '') return undefined
  return { kind, scope, text, isBreaking: mark !== undefined || /^BREAKING[ -]CHANGE: /m.test(body) }
}

/** Formats one release. Commits come newest first, as in `git log`; changes are listed oldest first. */
export function formatRelease(version: string, date: string, commits: readonly CommitText[]): string {
  const changes = commits.flatMap(commit => readChange(commit) ?? []).toReversed()
  const breaking = changes.filter(({ isBreaking }) => isBreaking)
  const sections = [
    ...formatSection('Breaking', breaking),
    ...heads.flatMap(([head, kinds]) =>
      formatSection(
        head,
        changes.filter(({ kind, isBreaking }) => kinds.includes(kind) && !isBreaking),
      ),
    ),
  ]
  return [`## ${version} - ${date}`, ...sections, ''].join('\n\n').trimEnd()
}

/** Formats the changes below one heading, grouped by scope in the order in which scopes appear. */
function formatSection(head: string, changes: readonly Change[]): readonly string[] {
  if (changes.length === 0) return []
  const scopes = [...new Set(changes.map(({ scope }) => scope))]
  const lines = scopes.flatMap(scope =>
    [...new Set(changes.filter(change => change.scope === scope).map(({ text }) => text))].map(
      text => `- ${scope === '' ? '' : `${scope}: `}${text}`,
    ),
  )
  return [`### ${head}`, lines.join('\n')]
}

const opening = `# Changelog

The format is that of [Keep a Changelog](https://keepachangelog.com/en/1.1.0/). Versions follow [Semantic Versioning](https://semver.org).`

/** Inserts a release before the others. @throws Error if the file has that release already */
export function insertRelease(file: string, release: string): string {
  const [head = ''] = release.split('\n')
  const version = head.split(' ')[1] ?? ''
  if (new RegExp(`^## \\[?${version.replaceAll('.', '\\.')}\\]?(?: |$)`, 'm').test(file)) {
    throw new Error(`CHANGELOG.md has ${version} already. Choose another version, or take its section out.`)
  }
  const insertAt = file.search(/^## /m)
  const [textBefore, textAfter] =
    insertAt === -1 ? [file || opening, ''] : [file.slice(0, insertAt), file.slice(insertAt)]
  return `${textBefore.trimEnd()}\n\n${release}\n${textAfter === '' ? '' : `\n${textAfter}`}`
}

/** Matches a semantic version without build metadata (semver.org 2.0.0). */
export const versionPattern = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/** Replaces the version in the text of a `package.json` or `pyproject.toml`, and nothing else. @throws Error without a version */
export function replaceVersion(path: string, text: string, version: string): string {
  const pattern = path.endsWith('.toml') ? /^(version = ")[^"]*(")/m : /^( {2}"version": ")[^"]*(")/m
  if (!pattern.test(text)) throw new Error(`Cannot find a version in ${path}`)
  return text.replace(pattern, `$1${version}$2`)
}

export function readVersion(path: string, text: string): string | undefined {
  return (path.endsWith('.toml') ? /^version = "([^"]*)"/m : /^ {2}"version": "([^"]*)"/m).exec(text)?.[1]
}
