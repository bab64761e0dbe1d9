// Removes invisible characters from the text that peers write.
import { createBidiReader } from './bidi-controls.ts'
import { toWellFormed } from './well-formed.ts'

/** A text as a person sees it. */
interface VisibleText {
  readonly text: string
  /** The number of removed characters. */
  readonly removedCount: number
}

/** The flag of a message from which invisible characters were removed. */
export const invisibleFlag = 'invisible_characters'

/** Scripts whose letters join or form conjuncts, for which they need joiners (UAX #31 §2.3, The Unicode Standard §23.2). */
const joiningScripts = [
  ...['Arabic', 'Syriac', 'Mandaic', 'Nko', 'Adlam', 'Hanifi_Rohingya', 'Mongolian', 'Phags_Pa', 'Manichaean'],
  ...['Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala'],
  ...['Myanmar', 'Khmer', 'Tibetan', 'Balinese', 'Javanese', 'Sundanese', 'Grantha', 'Newa', 'Tirhuta', 'Brahmi'],
  ...['Kaithi', 'Sharada', 'Chakma', 'Meetei_Mayek', 'Saurashtra', 'Siddham', 'Modi', 'Khojki', 'Tulu_Tigalari'],
]
/** Scripts without spaces, in which U+200B marks a possible line break (UAX #14, class SA). */
const unspacedScripts = [
  ...['Khmer', 'Thai', 'Lao', 'Myanmar', 'Tibetan', 'Tai_Le', 'New_Tai_Lue', 'Tai_Tham', 'Tai_Viet'],
  ...['Balinese', 'Javanese', 'Ahom'],
]

const lettersOf = (scripts: readonly string[]) =>
  `[[\\p{L}\\p{M}]&&[${scripts.map(script => `\\p{scx=${script}}`).join('')}]]`

/** Format controls of hieroglyphs, of which up to three follow one sign: the end of a group, a joiner, the beginning of a group. */
const hieroglyphControls = '\\u{13430}-\\u{1343f}'
/** Beginnings and ends of beams, ties, slurs and phrases. Two of them may meet at one note. */
const musicControls = '\\u{1d173}-\\u{1d17a}'

/**
 * Patterns of invisible characters that belong to the text. Each pattern looks only at neighbouring characters, and each needs a visible character
 * before or after it.
 */
const neededPatterns = [
  // Flags of regions, and keycaps (UTS #51 §1.4.6).
  '\\p{RGI_Emoji_Tag_Sequence}|\\p{Emoji_Keycap_Sequence}',
  // One variation selector after its base character: text or emoji style, ideographs, mathematics, some scripts.
  '(?<=[\\p{Emoji}--[0-9#*]])[\\ufe0e\\ufe0f]',
  '(?<=[\\p{Sm}\\p{Ideographic}\\p{scx=Myanmar}\\p{scx=Phags_Pa}\\p{scx=Manichaean}\\p{scx=Egyptian_Hieroglyphs}])[\\ufe00-\\ufe06]',
  '(?<=\\p{Ideographic})[\\u{e0100}-\\u{e01ef}]',
  '(?<=[\\p{scx=Mongolian}--[\\u180b-\\u180f]])[\\u180b-\\u180f]',
  // Joiners between emoji that form one emoji (UAX #29 GB11).
  '(?<=\\p{Extended_Pictographic}\\ufe0f?|\\p{Emoji_Modifier})\\u200d(?=\\p{Extended_Pictographic})',
  `(?<=${lettersOf(joiningScripts)})[\\u200c\\u200d]|(?<![\\u200c\\u200d])\\u200d(?=${lettersOf(joiningScripts)})`,
  `(?<=${lettersOf(unspacedScripts)})\\u200b`,
  // A joiner of marks in Hebrew, and syllables of Hangul that lack a letter (The Unicode Standard §23.2, §3.12).
  '(?<=[\\p{scx=Hebrew}&&\\p{M}])\\u034f(?=\\p{M})',
  '\\u115f(?=[\\u1161-\\u11a7\\ud7b0-\\ud7c6])|(?<=[\\u1100-\\u115e\\ua960-\\ua97c])\\u1160',
  `(?<=[\\p{scx=Egyptian_Hieroglyphs}--[${hieroglyphControls}]][${hieroglyphControls}]{0,2})[${hieroglyphControls}]`,
  '(?<=[\\p{scx=Duployan}--[\\u{1bca0}-\\u{1bca3}]])[\\u{1bca0}-\\u{1bca3}]',
  `(?<=[[\\u{1d100}-\\u{1d1ff}]--[${musicControls}]][${musicControls}]?)[${musicControls}]`,
]

const bidiControls = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069'

/** Characters that show nothing: default ignorable (UAX #44), controls, annotations, noncharacters, formats of scripts. */
const invisiblePattern =
  '[[\\p{Default_Ignorable_Code_Point}\\p{Cc}\\p{Noncharacter_Code_Point}\\ufff9-\\ufffb\\u{13430}-\\u{1343f}]--[\\t\\n\\r\\v\\f\\u0085]]'

const invisibleCandidatePattern = new RegExp(`${invisiblePattern}|[\\v\\f\\u0085]|\\r(?!\\n)|\\p{Cs}`, 'v')
const removablePattern = new RegExp(`(${neededPatterns.join('|')})|([${bidiControls}])|${invisiblePattern}`, 'gv')
const ideographSelector = /[\u{e0100}-\u{e01ef}]/gu
/** The maximum number of different selectors of ideographs in one text. A text with more uses them as letters: 240 of them carry a byte each. */
const maxIdeographSelectors = 8

/** Matches characters other than a line feed that end a line. A carriage return before a line feed belongs to that line end. */
const lineEnds = /[\v\f\u0085]|\r(?!\n)/g

/**
 * Returns `text` without characters that show nothing and could carry words that only a machine reads. Characters that change
 * what people see stay: joiners and selectors where a script or an emoji needs them, and directional controls in lines with
 * right-to-left letters. Private-use characters stay as well, because they show a sign or a box. Takes linear time.
 */
export function readVisibleText(text: string): VisibleText {
  if (!invisibleCandidatePattern.test(text)) return { text, removedCount: 0 }
  const wellFormedText = text.toWellFormed().replace(lineEnds, '\n')
  const isNeededBidiControl = createBidiReader(wellFormedText)
  const hidesLetters = new Set(wellFormedText.match(ideographSelector)).size > maxIdeographSelectors
  let removedCount = 0
  const visibleText = wellFormedText.replace(
    removablePattern,
    (character, neededCharacter?: string, bidiControl?: string, index = 0) => {
      const isKept = neededCharacter !== undefined && !(hidesLetters && neededCharacter.search(ideographSelector) === 0)
      if (isKept || (bidiControl !== undefined && isNeededBidiControl(index))) return character
      removedCount += 1
      return ''
    },
  )
  return { text: visibleText, removedCount }
}

/**
 * Returns `value` with `readVisibleText` applied to every string in it, at any depth, and to the names of members. If the new name is already
 * taken, it gets a number. Members of the outermost object that `except` names are left alone, but all text becomes well formed. If nothing
 * changes, the value itself is returned and not a copy.
 */
export function readVisibleValue<Value>(
  value: Value,
  { except }: { readonly except?: ReadonlySet<string> } = {},
): { readonly value: Value; readonly removed: number } {
  let removed = 0
  const readText = (input: string): string => {
    const { text, removedCount } = readVisibleText(input)
    removed += removedCount
    return text
  }
  const read = (input: unknown): unknown =>
    typeof input === 'string' ? readText(input) : mapMembers(input, read, readText)
  const wellFormedValue = toWellFormed(value)
  const visibleValue = mapMembers(
    wellFormedValue,
    (member, name) => (except?.has(name) ? member : read(member)),
    readText,
  )
  return { value: (typeof value === 'string' ? read(value) : visibleValue) as Value, removed }
}

/** Returns a list or an object with each member and each name changed. Returns the value itself if nothing changes. */
function mapMembers(
  value: unknown,
  change: (member: unknown, name: string) => unknown,
  changeName: (name: string) => string,
): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const members = value.map((member, index) => change(member, String(index)))
    return members.every((member, index) => member === value[index]) ? value : members
  }
  const uniqueName = createUniqueNames(Object.keys(value))
  const members = Object.entries(value).map(([name, member]) => {
    const [newName, newMember] = [changeName(name), change(member, name)]
    return {
      name: newName === name ? name : uniqueName(newName),
      member: newMember,
      isSame: newName === name && newMember === member,
    }
  })
  if (members.every(({ isSame }) => isSame)) return value
  return Object.fromEntries(members.map(({ name, member }) => [name, member]))
}

/** Returns a function that gives a new name a number if it is taken. It takes linear time for any number of names. */
function createUniqueNames(names: readonly string[]): (name: string) => string {
  const usedNames = new Set(names)
  const counts = new Map<string, number>()
  return name => {
    let unique = name
    for (let count = counts.get(name) ?? 2; usedNames.has(unique); count += 1) {
      unique = `${name}_${count}`
      counts.set(name, count + 1)
    }
    usedNames.add(unique)
    return unique
  }
}
