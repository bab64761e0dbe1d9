// Lists the marks in a model's text that are not for people, in the forms of many models.

/** The kind of text that people do not see. */
export type WithheldKind = 'reasoning' | 'tool_call' | 'control_token' | 'data_block'

/** A mark that begins text that is not for people. */
interface Mark {
  readonly kind: WithheldKind
  /** Matches the mark at `lastIndex` (sticky). */
  readonly open: RegExp
  /**
   * Returns the texts that end the marked text, by the groups of `open`. `end`: everything after the mark belongs to it. `none`: the mark has no
   * content.
   */
  readonly close: ((groups: Readonly<Record<string, string | undefined>>) => readonly string[]) | 'end' | 'none'
  /** The place where the mark counts: the beginning of the answer, the beginning of a line, or anywhere. */
  readonly where: 'beginning' | 'line' | 'anywhere'
}

/**
 * The names of reasoning tags. DeepSeek, Qwen, GLM and MiniMax write `think`, Seed-OSS `seed:think`, Anthropic's models `thinking`, Gemini behind
 * proxies `thought`, and Nous `reasoning`. Prompts that ask for reasoning use `reflection` and `inner_monologue`, too.
 */
const thoughtTag = '(?:[\\w-]{1,16}:)?(?:think|(?:ant)?thinking|thoughts?|reasoning|reflection|inner_monologue)'
/** The attributes of a start tag. */
const attributes = '(?:\\s[^>\\n]{0,80})?'
const toolTag =
  '(?:[\\w-]{1,16}:)?(?:tool_?calls?|function_?calls?|tool_?use|tool_?code|invoke|tool_?(?:response|results?)|function_?results?)'
const byName = ({ tag = '' }: Readonly<Record<string, string | undefined>>) => [`</${tag}>`]
/** A token counts only if no sentence continues after it on its line, so that a text may mention one. */
const atLineEnd = '(?=[^\\S\\n]*(?:$|\\n|<[|｜]?[\\w/]))'

const sticky = (pattern: string) => new RegExp(pattern, 'iy')

/** All marks, in the order in which they are tried. The first match counts. */
const marks: readonly Mark[] = [
  // Reasoning. A tag in the middle of a line, or before a space, only mentions the tag.
  { kind: 'reasoning', open: sticky(`<(?<tag>${thoughtTag})${attributes}>`), close: byName, where: 'beginning' },
  { kind: 'reasoning', open: sticky(`<(?<tag>${thoughtTag})${attributes}>(?=\\n|\\S)`), close: byName, where: 'line' },
  // Kimi uses this form.
  { kind: 'reasoning', open: sticky('◁think▷'), close: () => ['◁/think▷'], where: 'anywhere' },
  // Magistral uses this form.
  { kind: 'reasoning', open: sticky('\\[THINK\\](?=\\n|\\S)'), close: () => ['[/THINK]'], where: 'line' },
  // Harmony (gpt-oss): the channels `analysis` and `commentary` are not for people.
  {
    kind: 'reasoning',
    open: sticky(
      '<\\|channel\\|>\\s{0,9}(?:analysis|commentary)[^<]{0,80}(?:<\\|constrain\\|>\\w{0,16})?<\\|message\\|>',
    ),
    close: () => ['<|end|>', '<|call|>', '<|start|>assistant', '<|channel|>final<|message|>'],
    where: 'anywhere',
  },
  // Servers that remove special tokens from the text leave this form of Harmony.
  { kind: 'reasoning', open: sticky('analysis(?=[A-Z])'), close: () => ['assistantfinal'], where: 'beginning' },
  // Gemma uses this form.
  { kind: 'reasoning', open: sticky('<\\|channel>thought'), close: () => ['<channel|>'], where: 'anywhere' },
  // Command A and Sky-T1 use this form.
  { kind: 'reasoning', open: sticky('<\\|START_THINKING\\|>'), close: () => ['<|END_THINKING|>'], where: 'anywhere' },
  {
    kind: 'reasoning',
    open: sticky('<\\|begin_of_thought\\|>'),
    close: () => ['<|end_of_thought|>'],
    where: 'anywhere',
  },
  // These are tool calls that a server has not parsed.
  { kind: 'tool_call', open: sticky(`<(?<tag>${toolTag})${attributes}>`), close: byName, where: 'line' },
  {
    kind: 'tool_call',
    open: sticky(`<(?<tag>${toolTag})${attributes}>(?=\\s*[{<[])`),
    close: byName,
    where: 'anywhere',
  },
  { kind: 'tool_call', open: sticky('<(?<tag>function)=[\\w.:-]{1,64}>'), close: byName, where: 'anywhere' },
  {
    kind: 'tool_call',
    open: sticky('<\\|tool_calls_section_begin\\|>'),
    close: () => ['<|tool_calls_section_end|>'],
    where: 'anywhere',
  },
  {
    kind: 'tool_call',
    open: sticky('<[|｜]tool[▁_]calls?[▁_]begin[|｜]>'),
    close: () => ['<｜tool▁calls▁end｜>', '<|tool_call_end|>'],
    where: 'anywhere',
  },
  { kind: 'tool_call', open: sticky('<\\|START_ACTION\\|>'), close: () => ['<|END_ACTION|>'], where: 'anywhere' },
  {
    kind: 'tool_call',
    open: sticky('\\[TOOL_CALLS?\\](?=\\s*[\\w[{])|<\\|(?:python_tag|tool_call|action_start)\\|>'),
    close: 'end',
    where: 'anywhere',
  },
  // These are headers of the model's own turn.
  {
    kind: 'control_token',
    open: sticky(
      '<\\|im_start\\|>assistant\\s?|<\\|message\\|>|<\\|start_header_id\\|>assistant<\\|end_header_id\\|>\\s?|<start_of_turn>model\\s?|<s>(?=\\s*$)',
    ),
    close: 'none',
    where: 'beginning',
  },
  {
    kind: 'control_token',
    open: sticky(
      '<\\|start\\|>assistant|<\\|channel\\|>\\s{0,9}final[^<]{0,80}<\\|message\\|>|<\\|(?:START|END)_RESPONSE\\|>|<\\|(?:begin|end)_of_solution\\|>',
    ),
    close: 'none',
    where: 'anywhere',
  },
  // This is the end of the turn. A model that writes more after it invents somebody else's turn.
  {
    kind: 'control_token',
    open: sticky(
      `(?:<\\|(?:im_end|im_start|end|endoftext|end_of_text|eot_id|eom_id|eot|return|call|user|system|assistant|start_header_id|end_of_turn|end_of_turn_token)\\|>|<(?:end|start)_of_turn>|<eos>|<｜(?:end▁of▁sentence|User|Assistant)｜>)${atLineEnd}|</s>(?=\\s*$)`,
    ),
    close: 'end',
    where: 'anywhere',
  },
  // These are other tokens of this form, after which the answer may continue.
  { kind: 'control_token', open: sticky(`<\\|[a-z][a-z_]{1,24}\\|>${atLineEnd}`), close: 'none', where: 'anywhere' },
  {
    kind: 'control_token',
    open: sticky(
      '<\\|(?:im_start|start)\\|>(?:user|system|tool)\\b|<\\|start_header_id\\|>\\w{1,16}<\\|end_header_id\\|>|<start_of_turn>user\\b',
    ),
    close: 'end',
    where: 'anywhere',
  },
]

/** The longest beginning of a mark that must be seen before it is decided, characters. */
const maxMarkChars = 160

/** The beginning of a mark that is not for people. */
export interface MarkMatch {
  readonly kind: WithheldKind
  readonly text: string
  readonly close: readonly string[] | 'end' | 'none'
}

/** A quick test, because most characters that might begin a mark do not begin one. */
const markLikePattern = /^(?:<(?:[\w|｜]|\/s>)|◁t|\[[A-Z])/i

/** Finds the mark that a text begins with. */
export function findMarkAt(text: string, position: Mark['where']): MarkMatch | undefined {
  if (position !== 'beginning' && !markLikePattern.test(text)) return undefined
  for (const { kind, open, close, where } of marks) {
    if (where === 'beginning' && position !== 'beginning') continue
    if (where === 'line' && position === 'anywhere') continue
    open.lastIndex = 0
    const match = open.exec(text)
    if (match) return { kind, text: match[0], close: typeof close === 'function' ? close(match.groups ?? {}) : close }
  }
  return undefined
}

/** Returns true if a text that ends here may be the beginning of a mark. */
export function mayBecomeMark(remaining: string): boolean {
  if (remaining.length >= maxMarkChars) return false
  // The header of a channel contains several marks.
  if (/^<\|channel\|>/i.test(remaining)) return !/<\|message\|>/i.test(remaining)
  return /^(?:<(?:$|[\w/|｜])[^>\n]*(?:>\s*)?$|<[|｜][\w▁ |｜]*>[^<\n]{0,90}(?:<[^>\n]*>?\s*)?$|◁(?:$|\/?t[^▷\n]*▷?$)|\[\/?[A-Z_]{0,16}(?:\]\s*)?$)/i.test(
    remaining,
  )
}

/** Returns true if an answer with this beginning may begin with a mark that has no special character. */
export function mayBeginWithMark(remaining: string): boolean {
  return 'analysis'.startsWith(remaining) || mayBecomeMark(remaining)
}

const thoughtEnd = `</(?<tag>${thoughtTag})>|◁/think▷|\\[/THINK\\]|<\\|END_THINKING\\|>|<\\|end_of_thought\\|>`
const thoughtEndHere = new RegExp(`^(?:${thoughtEnd})`, 'i')
const thoughtBeginning = `<(?<opened>${thoughtTag})${attributes}>`
const thoughtBeginningHere = new RegExp(`^${thoughtBeginning}`, 'i')
const thoughtMarkPattern = new RegExp(`${thoughtBeginning}|(?<end>${thoughtEnd})`, 'gi')

const quotes = /["'`“”‘’«»([{]$/
const quoteEnds = /^["'`“”‘’«»)\]}]/

/** The end of a thought whose beginning is not in the text. */
interface StrayEnd {
  readonly index: number
  readonly length: number
}

/** The number of characters after a closing tag that distinguish the end of a thought from a mention of the tag. */
export const afterThoughtEnd = 2

/**
 * Finds the first end of a thought that has no beginning: templates of DeepSeek R1 and Qwen open the tag in the prompt. A tag in quotes or code,
 * in the middle of a sentence, or after its own beginning only mentions the tag. `openedTags` holds the names of tags before it, and gets further ones.
 */
export function findStrayEnd(text: string, from: number, openedTags: Set<string>): StrayEnd | undefined {
  thoughtMarkPattern.lastIndex = from
  for (let match = thoughtMarkPattern.exec(text); match; match = thoughtMarkPattern.exec(text)) {
    const { index, groups: { tag, opened: beginning, end = '' } = {} } = match
    if (beginning !== undefined) openedTags.add(beginning.toLowerCase())
    else if (
      !openedTags.has(tag?.toLowerCase() ?? '') &&
      !isMention(text.slice(Math.max(0, index - 2), index), readAfter(text, index + end.length))
    )
      return { index, length: end.length }
  }
  return undefined
}

function readAfter(text: string, index: number): string {
  return text.slice(index, index + afterThoughtEnd)
}

/** Reads the name of a thought's tag that opens here, even if the text only mentions it. */
export function readReasoningStart(text: string): string | undefined {
  return thoughtBeginningHere.exec(text)?.groups?.opened?.toLowerCase()
}

/** Reads a stray end of a thought at this position. `openedTags` are the names of tags that opened in the text before it. */
export function readStrayEnd(text: string, textBefore: string, openedTags: ReadonlySet<string>): string | undefined {
  const match = thoughtEndHere.exec(text)
  if (!match || openedTags.has(match.groups?.tag?.toLowerCase() ?? '')) return undefined
  return isMention(textBefore, readAfter(text, match[0].length)) ? undefined : match[0]
}

function isMention(before: string, after: string): boolean {
  if (quotes.test(before) && quoteEnds.test(after)) return true
  return /[\p{L}\p{N},][^\S\n]$/u.test(before) && /^(?:[^\S\n][\p{Ll}\p{N}]|[.,;:!?])/u.test(after)
}
