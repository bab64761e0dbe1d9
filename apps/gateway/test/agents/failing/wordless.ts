/** Answers with empty text or white space, as the message requests. */
export async function handle({ parts }: { readonly parts: readonly { readonly content?: string }[] }) {
  const text = parts.map(({ content = '' }) => content).join(' ')
  if (text.includes('pieces')) return streamBlanks()
  return text.includes('empty') ? '' : ' \n\t '
}

async function* streamBlanks() {
  yield ' '
  yield '\n\t'
}
