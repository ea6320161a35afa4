// The differences of two texts, by words, and of two words by letters.

const LONGEST = 1500; // words of two texts, above which they are not compared

const words = (text) => text.match(/[\p{L}\p{N}_]+\s*|[^\s\p{L}\p{N}_]\s*|\s+/gu) || [];

// A single word is compared by its letters.
const isWord = (text) => text.length <= 40 && !/\s/.test(text);

// The length of the longest common run of words from each place on (Wagner and Fischer 1974).
function commonLengths(before, now) {
  const width = now.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const down = lengths[(i + 1) * width + j];
      const right = lengths[i * width + j + 1];
      const both = lengths[(i + 1) * width + j + 1] + 1;
      lengths[i * width + j] = before[i] === now[j] ? both : Math.max(down, right);
    }
  }
  return lengths;
}

function addPart(parts, text, differs) {
  const last = parts[parts.length - 1];
  if (last && last.differs === differs) {
    last.text += text;
  } else {
    parts.push({ text, differs });
  }
}

// Both texts in parts that are common or differ; null if they are equal or too long.
function differences(textBefore, textNow) {
  const areWords = isWord(textBefore) && isWord(textNow);
  const split = areWords ? (text) => [...text] : words;
  const before = split(textBefore);
  const now = split(textNow);
  if (textBefore === textNow || before.length + now.length > LONGEST) {
    return null;
  }
  const lengths = commonLengths(before, now);
  const width = now.length + 1;
  const left = [];
  const right = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < now.length) {
    const isCommon = i < before.length && j < now.length && before[i] === now[j];
    const leavesLeft = j >= now.length
      || (i < before.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]);
    if (isCommon) {
      addPart(left, before[i], false);
      addPart(right, now[j], false);
      i += 1;
      j += 1;
    } else if (leavesLeft) {
      addPart(left, before[i], true);
      i += 1;
    } else {
      addPart(right, now[j], true);
      j += 1;
    }
  }
  return [left, right];
}

const marked = (parts) =>
  parts.map((part) => (part.differs ? h("mark", { class: "differs" }, part.text) : part.text));

// Two texts with their differences marked, each as nodes.
function compared(textBefore, textNow) {
  const found = textBefore && textNow ? differences(textBefore, textNow) : null;
  return found ? [marked(found[0]), marked(found[1])] : [textBefore, textNow];
}
