// Recognizes the header block above a message that Outlook, GMX, QQ, Foxmail, Notes and others quote without prefixes.
import type { PhraseKind } from './phrase-table.ts'
import { listByLanguage } from './phrase-table.ts'
import { isAnnounced, isBlank, isDelimiterLine, readVisibleLine } from './quoted-line.ts'
import { isSeparator } from './separator.ts'

const roles = ['from', 'sent', 'to', 'copy', 'subject'] as const satisfies readonly PhraseKind[]
type Role = (typeof roles)[number]

/** The roles of each label and their languages, as `<role> <language>`. The labels are in lower case. */
const rolesByLabel: ReadonlyMap<string, ReadonlySet<string>> = readLabels()

function readLabels(): ReadonlyMap<string, ReadonlySet<string>> {
  const rolesByText = new Map<string, Set<string>>()
  for (const role of roles) {
    for (const [language, phrases] of listByLanguage(role)) {
      for (const label of phrases)
        rolesByText.set(label, (rolesByText.get(label) ?? new Set()).add(`${role} ${language}`))
    }
  }
  return rolesByText
}

/** The maximum number of lines of a block, and the maximum length of a line in characters. */
const [maxBlockLines, maxLineChars] = [9, 200]

interface Field {
  /** The roles and languages of the label. They are undefined if the table lacks the label. */
  readonly roles: ReadonlySet<string> | undefined
  readonly value: string
}

interface RoleField extends Field {
  readonly roles: ReadonlySet<string>
}

/**
 * Returns the number of lines, from `index` on, that are a header block. It returns 0 if they are no header block. A
 * block may begin with any field, and no other text is directly above it. Its author has a mailbox, or it has an
 * author, a date with a time, a recipient and a subject. In a language that the table lacks, every line of a block must
 * be a field, and the values must have the forms of Outlook.
 */
export function measureHeaderBlock(lines: readonly string[], index: number): number {
  const first = readField(lines[index] ?? '')
  if (!first || !isAtBlockStart(lines, index)) return 0
  const followingLines = lines.slice(index, index + maxBlockLines)
  const end = followingLines.findIndex(isBlank)
  const block = end < 0 ? followingLines : followingLines.slice(0, end)
  const fields = block.flatMap(line => readField(line) ?? [])
  const roleFields = fields.filter((field): field is RoleField => field.roles !== undefined)
  if (first.roles && isHeaderBlock(roleFields, lines, index)) return block.length
  const isComplete = fields.length === block.length && end >= 0
  return isComplete && hasHeaderValues(fields) && !isAnnounced(lines, index) ? block.length : 0
}

const valuePatterns = {
  mailbox: /^[^<>]{0,100}[<[(]?(?:mailto:)?[^<>()[\]\s]+@[^<>()[\]\s]+[>\])]?;?$/i,
  /** Matches the numbers of a date, with or without the name of its month, and of a time. */
  dateTime: /(?:\p{Nd}+\P{Nd}+){2,}\p{Nd}{1,2}[:.時点]\p{Nd}{2}/u,
  replySubject: /^(?:re|fwd?|aw|antw?|sv|vs|odp|ynt|答复|回复|回覆|返信)\s?[:：]/i,
} as const

/**
 * Returns true for values in Outlook's order: a mailbox, a date with a time, further mailboxes, and last the subject of
 * a reply. A list that a person writes has other values.
 */
function hasHeaderValues(fields: readonly Field[]): boolean {
  const values = fields.map(({ value }) => value.trim())
  return (
    values.length >= 4 &&
    valuePatterns.mailbox.test(values[0] ?? '') &&
    valuePatterns.dateTime.test(values[1] ?? '') &&
    values.slice(2, -1).some(value => value.includes('@')) &&
    valuePatterns.replySubject.test(values.at(-1) ?? '')
  )
}

function readField(line: string): Field | undefined {
  const [, label, value = ''] =
    /^[\s*]{0,4}(\p{L}[^:：*<>@]{0,30}?)[\s*]{0,3}[:：][\s*]{0,4}(.*)$/u.exec(
      readVisibleLine(line.slice(0, maxLineChars)),
    ) ?? []
  return label === undefined ? undefined : { roles: rolesByLabel.get(label.normalize('NFC').toLowerCase()), value }
}

function isAtBlockStart(lines: readonly string[], index: number): boolean {
  const lineAbove = lines[index - 1] ?? ''
  return isBlank(lineAbove) || isDelimiterLine(lineAbove) || isSeparator(lineAbove)
}

/**
 * Matches a drawn line. Outlook draws 32 underscores. The few dashes above a person's signature or list do not match.
 */
const drawnLinePattern = /^(?:_{10,}|-{10,})$/

function isHeaderBlock(fields: readonly RoleField[], lines: readonly string[], index: number): boolean {
  const findByRole = (role: Role) =>
    fields.find(field => [...field.roles].some(fieldRole => fieldRole.startsWith(`${role} `)))
  const [from, sent, subject] = [findByRole('from'), findByRole('sent'), findByRole('subject')]
  if (fields.length < 3 || !from || !/\p{L}/u.test(from.value) || !(sent ?? subject)) return false
  const followsDrawnLine = drawnLinePattern.test((lines[index - 1] ?? '').trim())
  const hasTime = timePattern.test(sent?.value ?? '')
  const isFromProgram = followsDrawnLine || from.value.includes('@') || (hasAllRoles(fields) && hasTime)
  // A person who quotes a header by hand announces it, and leaves out the time.
  return isFromProgram && (!isAnnounced(lines, index) || hasTime)
}

/** Matches a time of day that is not a part of a date. */
const timePattern = /(?<![\p{Nd}.])\p{Nd}{1,2}[:.時点时]\p{Nd}{2}(?![\p{Nd}.])/u

/** Returns true if one language has all four fields. A text about a journey or an order has fewer. */
function hasAllRoles(fields: readonly RoleField[]): boolean {
  const roles = fields.map(field => field.roles)
  const languages = [...(roles[0] ?? [])].map(role => role.slice(role.indexOf(' ')))
  const requiredRoles = ['from', 'sent', 'to', 'subject'] as const
  return languages.some(language =>
    requiredRoles.every(role => roles.some(fieldRoles => fieldRoles.has(role + language))),
  )
}
